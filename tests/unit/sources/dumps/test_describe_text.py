"""Parsed text against what others say of the same cluster: brokers' answers, znodes, the tool's filtered listings."""

from __future__ import annotations

import base64
import json
import re
import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kreplica.errors import InputError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sources.dumps.describe import read_describe_text
from kreplica.sources.dumps.text import DumpText

GOLDEN = Path(__file__).parents[3] / "golden"
STATES = sorted(GOLDEN.glob("kafka-*/[1-6]-*"))
STATES_WITH_ZNODES = [state for state in STATES if (state / "znodes.json").exists()]
LAYOUTS = GOLDEN / "describe-layouts"
NOW = datetime(2026, 11, 21, 7, 0, tzinfo=UTC)
PARTITION_ZNODE = re.compile(r"/brokers/topics/([^/]+)/partitions/(\d+)/state")
Key = tuple[str, int]


def parse(text: str, name: str = "dump.txt") -> ClusterSnapshot:
    return read_describe_text(DumpText(name, text, NOW))


def tool_output(path: Path) -> str:
    """Standard output of a recorded tool: the recordings carry standard error behind a line `[stderr]`."""
    return path.read_text(encoding="utf-8").partition("\n[stderr]\n")[0]


def by_key(snapshot: ClusterSnapshot) -> dict[Key, dict]:
    return {(row["topic"], row["partition"]): row for row in snapshot.partitions.rows()}


def answered_partitions(state: Path) -> dict[Key, dict]:
    answers = json.loads((state / "api-responses.json").read_text(encoding="utf-8"))
    return {
        (topic["name"], row["partition_index"]): {
            **row,
            "topic_id": topic["topic_id"],
            "internal": topic["is_internal"],
        }
        for topic in answers["describe_topics"]
        for row in topic["partitions"]
    }


def state_name(path: Path) -> str:
    return f"{path.parent.name}-{path.name}"


each_state = pytest.mark.parametrize("state", STATES, ids=state_name)


def test_all_recorded_states_are_there() -> None:
    assert len(STATES) == 6 + 6 + 3 + 3
    assert len(STATES_WITH_ZNODES) == 4


@each_state
def test_partitions_equal_the_brokers_answers(state: Path) -> None:
    rows = by_key(parse(tool_output(state / "topics-describe.txt")))
    answered = answered_partitions(state)
    assert rows.keys() == answered.keys()
    for key, answer in answered.items():
        row = rows[key]
        assert row["leader"] == answer["leader_id"]
        assert row["replicas"] == answer["replica_nodes"]
        assert set(row["isr"]) == set(answer["isr_nodes"])
        assert row["internal"] == answer["internal"]


@each_state
def test_topic_ids_equal_the_brokers_answers(state: Path) -> None:
    rows = by_key(parse(tool_output(state / "topics-describe.txt")))
    for key, answer in answered_partitions(state).items():
        known = uuid.UUID(answer["topic_id"] or "0" * 32)
        assert (known.int == 0) == ("ibp" in state.parent.name)
        wanted = base64.urlsafe_b64encode(known.bytes).decode().rstrip("=") if known.int else None
        assert rows[key]["topic_id"] == wanted


@each_state
def test_reassignments_equal_the_brokers_answers(state: Path) -> None:
    answers = json.loads((state / "api-responses.json").read_text(encoding="utf-8"))
    moving = {}
    for partition, move in answers["list_partition_reassignments"].items():
        topic, number = re.fullmatch(r"TopicPartition\(topic='(.+)', partition=(\d+)\)", partition).groups()
        moving[topic, int(number)] = (move["adding_replicas"], move["removing_replicas"])
    none = (None, None) if "ibp" in state.parent.name else ([], [])
    for key, row in by_key(parse(tool_output(state / "topics-describe.txt"))).items():
        assert (row["adding"], row["removing"]) == moving.get(key, none)
    assert bool(moving) == (state.name == "4-reassigning")


@pytest.mark.parametrize("state", STATES_WITH_ZNODES, ids=state_name)
def test_partitions_equal_the_znodes(state: Path) -> None:
    znodes = json.loads((state / "znodes.json").read_text(encoding="utf-8"))
    rows = by_key(parse(tool_output(state / "topics-describe.txt")))
    found = [match.groups() for path in znodes if (match := PARTITION_ZNODE.fullmatch(path))]
    assert set(rows) == {(topic, int(one)) for topic, one in found if f"/admin/delete_topics/{topic}" not in znodes}
    for (topic, partition), row in rows.items():
        path = f"/brokers/topics/{topic}"
        known = json.loads(znodes[f"{path}/partitions/{partition}/state"]["data"])
        assert row["leader"] == known["leader"]
        assert set(row["isr"]) == set(known["isr"])
        assert row["replicas"] == json.loads(znodes[path]["data"])["partitions"][str(partition)]


@pytest.mark.parametrize("state", sorted(GOLDEN.glob("kafka-4.3.1/[1-6]-*")), ids=state_name)
def test_eligible_leader_replicas_equal_the_brokers_answers(state: Path) -> None:
    answers = json.loads((state / "api-responses.json").read_text(encoding="utf-8"))
    rows = by_key(parse(tool_output(state / "topics-describe.txt")))
    compared = 0
    for topic in answers["describe_topic_partitions"]["topics"]:
        for answer in topic["partitions"]:
            row = rows.get((topic["name"], answer["partition_index"]))
            if row is not None:
                compared += 1
                assert row["elr"] == (answer["eligible_leader_replicas"] or [])
                assert row["last_known_elr"] == (answer["last_known_elr"] or [])
    assert compared > 20


@pytest.mark.parametrize("state", sorted(GOLDEN.glob("kafka-3.9.2*/[1-6]-*")), ids=state_name)
def test_eligible_leader_replicas_that_are_not_available_are_null(state: Path) -> None:
    rows = by_key(parse(tool_output(state / "topics-describe.txt"))).values()
    assert {(row["elr"], row["last_known_elr"]) for row in rows} == {(None, None)}


def brute_force(snapshot: ClusterSnapshot, selection: str) -> set[Key]:
    """TopicCommand's conditions, written down again for one partition at a time."""

    def factor(row: dict) -> int:
        return len(row["replicas"]) - len(row["adding"] or [])

    conditions = {
        "under-replicated": lambda row: factor(row) > len(row["isr"]),
        "unavailable": lambda row: row["leader"] == -1,
        "under-min-isr": lambda row: row["leader"] == -1 or len(row["isr"]) < row["min_isr"],
        "at-min-isr": lambda row: len(row["isr"]) == row["min_isr"],
    }
    return {key for key, row in by_key(snapshot).items() if conditions[selection](row)}


@each_state
@pytest.mark.parametrize("selection", ["under-replicated", "unavailable", "under-min-isr", "at-min-isr"])
def test_a_filter_over_the_whole_dump_gives_the_tools_filtered_listing(state: Path, selection: str) -> None:
    whole = parse(tool_output(state / "topics-describe.txt"))
    listed = tool_output(state / f"topics-{selection}-partitions.txt")
    assert brute_force(whole, selection) == (by_key(parse(listed)).keys() if listed.strip() else set())


@each_state
@pytest.mark.parametrize("selection", ["under-replicated", "unavailable", "under-min-isr", "at-min-isr"])
def test_a_filtered_listing_is_read_as_a_selection(state: Path, selection: str) -> None:
    listed = tool_output(state / f"topics-{selection}-partitions.txt")
    if not listed.strip():
        with pytest.raises(InputError, match="no partition is listed"):
            parse(listed)
        return
    snapshot = parse(listed)
    assert "lists only the partitions that a filter" in snapshot.notes[0]
    whole = by_key(parse(tool_output(state / "topics-describe.txt")))
    for key, row in by_key(snapshot).items():
        assert (row["replicas"], set(row["isr"])) == (whole[key]["replicas"], set(whole[key]["isr"]))
        assert row["min_isr"] is None
        assert row["topic_id"] is None


def test_log_output_in_between_is_left_out_and_counted() -> None:
    recorded = (GOLDEN / "kafka-4.3.1/2-broker-killed/topics-describe.txt").read_text(encoding="utf-8")
    output, warnings = recorded.split("\n[stderr]\n")
    lines = output.splitlines()
    mixed = "\n".join([*lines[:7], *warnings.splitlines(), *lines[7:]]) + "\n"
    snapshot = parse(mixed)
    assert list(snapshot.partitions.rows()) == list(parse(output + "\n").partitions.rows())
    assert snapshot.notes == ("left out 1 line of log output in the dump",)


def test_a_recording_with_standard_error_behind_it_is_read() -> None:
    recorded = (GOLDEN / "kafka-4.3.1/2-broker-killed/topics-describe.txt").read_text(encoding="utf-8")
    snapshot = parse(recorded)
    assert list(snapshot.partitions.rows()) == list(parse(recorded.partition("\n[stderr]")[0]).partitions.rows())
    assert snapshot.notes == ("left out 2 lines of log output in the dump",)


def test_settings_keep_commas_inside_their_values() -> None:
    state = GOLDEN / "kafka-4.3.1/4-reassigning"
    configs = {
        row["name"]: row["value"]
        for row in parse(tool_output(state / "topics-describe.txt")).configs.rows()
        if row["entity"] == "bulk-move"
    }
    throttled = (state / "configs-topics-throttled.txt").read_text(encoding="utf-8")
    printed = dict(re.findall(r"^  ((?:leader|follower)\S+?)=(\S+) sensitive", throttled, re.M))
    assert len(printed) == 2
    assert printed.items() <= configs.items()
    assert configs["file.delete.delay.ms"] == "1000"


@each_state
def test_settings_equal_the_tools_own_listing(state: Path) -> None:
    """Every topic's own setting that kafka-configs printed is there, with that value."""
    listing = next(state.glob("configs-topics*.txt"), None)
    if listing is None:
        assert state.name in ("3-broker-back", "6-before-kill") or "ibp" in state.parent.name
        return
    snapshot = parse(tool_output(state / "topics-describe.txt"))
    found = {(row["entity"], row["name"]): row["value"] for row in snapshot.configs.rows()}
    topic = ""
    compared = 0
    for line in tool_output(listing).splitlines():
        if heading := re.match(r"Dynamic configs for topic (\S+) are:", line):
            topic = heading[1]
        elif setting := re.match(r"  ([a-z.]+)=(.*?) sensitive=", line):
            compared += 1
            assert found[topic, setting[1]] == setting[2]
    assert compared > 5


# What was done to the cluster of describe-layouts (tests/golden/README.md): topic, replicas, ISR, leader.
HEALTHY = {
    ("orders", 0): (1, [1, 2, 3], {1, 2, 3}),
    ("orders", 1): (2, [2, 3, 1], {1, 2, 3}),
    ("orders", 2): (3, [3, 1, 2], {1, 2, 3}),
    ("single-copy", 0): (3, [3], {3}),
    ("single-copy", 1): (1, [1], {1}),
    ("moving", 0): (1, [1, 2], {1, 2}),
    ("moving", 1): (2, [2, 1], {1, 2}),
}
DELETED_LATER = {("doomed", 0): (1, [1, 2, 3], {1, 2, 3}), ("doomed", 1): (2, [2, 3, 1], {1, 2, 3})}
TROUBLE = {
    **HEALTHY,
    ("orders", 0): (1, [1, 2, 3], {1, 2}),
    ("orders", 1): (2, [2, 3, 1], {1, 2}),
    ("orders", 2): (1, [3, 1, 2], {1, 2}),
    ("single-copy", 0): (-1, [3], {3}),
}
BEING_DELETED = {("doomed", 0): (-1, [1, 2, 3], {2}), ("doomed", 1): (-1, [2, 3, 1], {2})}
MOVING = {**TROUBLE, ("moving", 0): (1, [1, 3, 2], {1, 2}), ("moving", 1): (2, [2, 1, 3], {1, 2})}
WHOLE_DUMPS = sorted(path for path in LAYOUTS.glob("*/*.txt") if "--" not in path.name)


def truth_of(path: Path) -> dict[Key, tuple[int, list[int], set[int]]]:
    zookeeper = "zookeeper" in path.name or path.name.startswith("0.8")
    if path.parent.name == "healthy":
        return {**HEALTHY, **DELETED_LATER}
    if path.parent.name == "trouble":
        return {**TROUBLE, **BEING_DELETED} if zookeeper else TROUBLE
    return MOVING


@pytest.mark.parametrize("path", WHOLE_DUMPS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_output_of_every_release_tells_the_same_cluster(path: Path) -> None:
    rows = by_key(parse(path.read_text(encoding="utf-8")))
    read = {key: (row["leader"], row["replicas"], set(row["isr"])) for key, row in rows.items()}
    assert read == truth_of(path)


def test_releases_from_0_8_to_3_9_are_covered() -> None:
    assert {path.stem.removesuffix("-zookeeper") for path in WHOLE_DUMPS} == {
        "0.8.0", "0.8.1.1", "1.1.1", "2.3.1", "2.5.1", "2.8.2", "3.7.2", "3.9.2",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("release", "adding", "min_isr", "min_isr_unset", "leading_is_alive", "topic_id"),
    [
        ("0.8.0", None, None, None, None, False),
        ("0.8.1.1-zookeeper", None, 2, None, None, False),
        ("1.1.1-zookeeper", None, 2, None, None, False),
        ("2.3.1", None, 2, None, None, False),
        ("2.5.1", None, 2, None, None, False),
        ("2.8.2", {0: ([3], [2]), 1: ([3], [])}, 2, None, None, True),
        ("3.7.2", {0: ([3], [2]), 1: ([3], [])}, 2, None, None, True),
        ("3.9.2", {0: ([3], [2]), 1: ([3], [])}, 2, 1, True, True),
    ],
)
def test_what_each_release_lets_know(
    release: str,
    adding: dict[int, tuple[list[int], list[int]]] | None,
    min_isr: int | None,
    min_isr_unset: int | None,
    leading_is_alive: bool | None,
    topic_id: bool,
) -> None:
    """`orders` has min.insync.replicas=2, `moving` Kafka's default 1; brokers 1 and 2 lead, 3 is stopped."""
    snapshot = parse((LAYOUTS / "moving" / f"{release}.txt").read_text(encoding="utf-8"))
    rows = by_key(snapshot)
    for partition in (0, 1):
        row = rows["moving", partition]
        assert (row["adding"], row["removing"]) == (adding[partition] if adding else (None, None))
        assert row["min_isr"] == min_isr_unset
        assert row["unclean_leader_election"] == (None if min_isr_unset is None else False)
        assert (row["topic_id"] is not None) == topic_id
    assert rows["orders", 0]["min_isr"] == min_isr
    assert rows["orders", 0]["adding"] == ([] if adding else None)
    alive = {row["broker"]: row["alive"] for row in snapshot.brokers.rows()}
    assert alive == {1: leading_is_alive, 2: leading_is_alive, 3: None}


@pytest.mark.parametrize("path", sorted(LAYOUTS.glob("trouble/*zookeeper*.txt")), ids=lambda path: path.stem)
def test_topics_marked_for_deletion_are_named(path: Path) -> None:
    marked = any("MarkedForDeletion" in line for line in path.read_text(encoding="utf-8").splitlines())
    notes = parse(path.read_text(encoding="utf-8")).notes
    assert ("1 topic marked for deletion: doomed" in notes) == marked
    assert marked == ("0.8.1" not in path.name)


def test_a_tool_that_reads_zookeeper_tells_nothing_of_reassignments() -> None:
    text = (LAYOUTS / "trouble" / "2.8.2-zookeeper.txt").read_text(encoding="utf-8")
    assert all(row["adding"] is None and row["topic_id"] for row in parse(text).partitions.rows())


def test_headers_alone_are_refused_with_the_option_that_prints_them() -> None:
    text = (LAYOUTS / "moving" / "3.9.2--topics-with-overrides.txt").read_text(encoding="utf-8")
    with pytest.raises(InputError, match=r"only 0 of 2 partitions of topic moving.*--topics-with-overrides") as caught:
        parse(text)
    assert caught.value.position == "line 1"


def test_a_tool_that_failed_is_no_dump() -> None:
    with pytest.raises(InputError, match="Kafka's tool failed") as caught:
        parse((LAYOUTS / "unknown-topic.txt").read_text(encoding="utf-8"))
    assert caught.value.position == "line 1"


def test_tabs_may_have_become_spaces() -> None:
    for path in WHOLE_DUMPS:
        text = path.read_text(encoding="utf-8")
        snapshot = parse(text.expandtabs(8))
        assert list(snapshot.partitions.rows()) == list(parse(text).partitions.rows())
        assert list(snapshot.configs.rows()) == list(parse(text).configs.rows())
