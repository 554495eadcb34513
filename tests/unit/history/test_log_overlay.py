"""Rows of a metadata log laid over those of snapshots, against the same row by row."""

from __future__ import annotations

from typing import Any

from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.history.moments.log_as_of import LoggedState
from kreplica.history.months.log_steps import LogStep, StepKind
from kreplica.model.tables.schema import BROKERS, CONFIGS, PARTITIONS, TableSchema
from kreplica.model.tables.table import Table

TOPICS = st.sampled_from(["orders", "audit", "ü"])
SETTING_NAMES = st.sampled_from(["min.insync.replicas", "unclean.leader.election.enable", "flush.ms"])
SETTINGS = {"min_isr": "min.insync.replicas", "unclean_leader_election": "unclean.leader.election.enable"}
KEYS = TableSchema("configs", tuple(CONFIGS.field(name) for name in ("entity_type", "entity", "name")), ())

PARTITION_KEYS = st.tuples(TOPICS, st.integers(0, 2))
PARTITION_ROWS = st.dictionaries(PARTITION_KEYS, st.tuples(st.none() | st.integers(1, 2), st.none() | st.booleans()))
BROKER_ROWS = st.dictionaries(st.integers(1, 4), st.none() | st.sampled_from(["3.9.2", "4.3.1"]))
SETTING_KEYS = st.one_of(
    st.tuples(st.just("topic"), TOPICS, SETTING_NAMES), st.tuples(st.just("broker"), st.just("1"), SETTING_NAMES)
)
SETTING_ROWS = st.dictionaries(SETTING_KEYS, st.none() | st.sampled_from(["1", "2"]))


def partitions(some: dict[Any, Any]) -> Table:
    return Table.from_rows(
        PARTITIONS,
        (
            {"topic": topic, "partition": number, "internal": False, "replicas": [1], "isr": [1], "min_isr": min_isr}
            | {"unclean_leader_election": unclean}
            for (topic, number), (min_isr, unclean) in some.items()
        ),
    )


def brokers(some: dict[int, Any], versions: bool) -> Table:
    return Table.from_rows(
        BROKERS,
        ({"broker": one, "alive": True, "version": version if versions else None} for one, version in some.items()),
    )


def configs(some: dict[Any, Any]) -> Table:
    names = ("entity_type", "entity", "name")
    return Table.from_rows(
        CONFIGS,
        ({**dict(zip(names, key, strict=True)), "value": value, "origin": "topic"} for key, value in some.items()),
    )


@examples(1)
@given(
    st.tuples(PARTITION_ROWS, BROKER_ROWS, SETTING_ROWS),
    st.tuples(PARTITION_ROWS, BROKER_ROWS, SETTING_ROWS),
    st.sets(SETTING_KEYS),
)
def test_a_log_over_snapshots_is_what_it_is_row_by_row(logged: Any, before: Any, held: set[Any]) -> None:
    held = {*held, *logged[2]}
    names = ("entity_type", "entity", "name")
    keys = Table.from_rows(KEYS, (dict(zip(names, key, strict=True)) for key in held))
    tables = {"partitions": partitions(logged[0]), "brokers": brokers(logged[1], False), "configs": configs(logged[2])}
    state = LoggedState("Zk5", "a folder", LogStep(7, StepKind.record, 1, 0), tables, keys)
    told = {"partitions": partitions(before[0]), "brokers": brokers(before[1], True), "configs": configs(before[2])}
    found = state.over(told)

    expected = []
    for row in tables["partitions"].rows():
        for at, (column, name) in enumerate(SETTINGS.items()):
            if row[column] is None and ("topic", row["topic"], name) not in held:
                row[column] = before[0].get((row["topic"], row["partition"]), (None, None))[at]
        expected.append(row)
    assert list(found["partitions"].rows()) == expected
    versions = {row["broker"]: row["version"] for row in found["brokers"].rows()}
    assert versions == {broker: before[1].get(broker) for broker in logged[1]}
    topics = {topic for topic, _ in logged[0]}
    others = {
        key: value for key, value in before[2].items() if key not in held and (key[0] != "topic" or key[1] in topics)
    }
    assert list(found["configs"].rows()) == list(configs({**others, **logged[2]}).rows())
