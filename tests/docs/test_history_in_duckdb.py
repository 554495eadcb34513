"""The layout of a history as docs/fleet.md tells it: DuckDB reads the rows of the definition by the statement there."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest
from histories.folders import TYPED, candidate, defined_runs
from histories.observations import observed

from kreplica import MetadataQuestion, decode_metadata, ingest_dumps
from kreplica.history.ingest import ingest
from kreplica.history.model import Observation
from kreplica.system.stores.storage import LocalStorage

ORDERS, OTHERS = ("orders", 0), ("orders", 1)
SEEN = [
    observed(0, {ORDERS: {"leader": 1, "isr": 1}, OTHERS: {"leader": 2}}),
    observed(1, {ORDERS: {"leader": 2, "isr": 2}}, whole=False),
    observed(1.5, {ORDERS: {"leader": 2, "isr": 2, "topic_id": 2}, OTHERS: {"leader": 2}}),
    observed(2, {OTHERS: {"leader": 2}}),
    observed(5, {OTHERS: {"leader": 1}}),
]


@pytest.fixture
def statements(root: Path) -> list[str]:
    return documented(root, 0)


def documented(root: Path, number: int) -> list[str]:
    """The statements of an example."""
    blocks = re.findall(r"```sql\n(.*?)```", (root / "docs/fleet.md").read_text(encoding="utf-8"), re.DOTALL)
    return [one for one in blocks[number].split(";\n") if one.strip()]


def test_the_documented_statement_gives_what_a_metadata_log_says(
    root: Path, statements: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = root / "tests/golden/kafka-4.3.1/killed-all/broker-1/data"
    ingest_dumps([log], tmp_path / "history")
    connection = duckdb.connect()
    for statement in [statements[0], *documented(root, 1)]:
        found = connection.execute(statement)
    rows = found.fetchall()
    changes = decode_metadata([str(log)], MetadataQuestion(partition=("orders", 0))).changes
    # Of several records of one millisecond the last one counts.
    expected = {one.timestamp: None if one.after is None else one.after.leader for one in changes}
    leaders = [(round(row[5].timestamp() * 1000), row[3]) for row in rows if row[1:3] == ("orders", 0)]
    assert expected.items() >= {step for before, step in pairwise([(0, None), *leaders]) if before[1] != step[1]}
    assert {leader for _, leader in leaders} == set(expected.values())


ORDERS_OF_ARRIVAL = {"in order": SEEN, "backwards": SEEN[::-1], "some twice": [*SEEN[3:], *SEEN]}


@pytest.mark.parametrize("some", ORDERS_OF_ARRIVAL.values(), ids=ORDERS_OF_ARRIVAL)
def test_the_documented_statement_gives_the_runs_of_the_definition(
    statements: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, some: list[Observation]
) -> None:
    monkeypatch.chdir(tmp_path)
    for one in some:
        ingest([candidate(one)], LocalStorage(tmp_path / "history"))
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for statement in statements[:-1]:
        connection.execute(statement)
    rows = connection.execute(statements[-1].replace("isr,", "isr, elr, topic_id,")).fetchall()
    names = [column[0] for column in connection.description or ()]
    assert {row[names.index("cluster")] for row in rows} == {"Zk5"}
    found = [dict(zip(names, row, strict=True)) for row in rows]
    plain = [
        (
            (row["topic"], row["partition"]),
            {name: row[name] for name in TYPED if row[name] is not None},
            *(str(row[name]) for name in ("valid_from", "last_seen", "valid_to")),
        )
        for row in found
    ]
    expected = [(key, _known(values), *times) for key, values, *times in defined_runs(SEEN)]
    assert sorted(plain, key=repr) == sorted(expected, key=repr)


def test_samples_are_read_as_they_are(tmp_path: Path) -> None:
    some = [
        observed(
            hours, {key: {"high_watermark": 10**9 * (place + hours)} for place, key in enumerate((ORDERS, OTHERS))}
        )
        for hours in (5, 6, 30)
    ]
    for one in some:
        ingest([candidate(one)], LocalStorage(tmp_path))
    found = duckdb.sql(
        f"SELECT topic, partition, observation, high_watermark FROM '{tmp_path}/*/*/partitions/samples-*.parquet'"
    ).fetchall()
    expected = [
        (topic, number, place, 10**9 * (number + hours))
        for place, hours in ((0, 5), (2, 30))
        for topic, number in (ORDERS, OTHERS)
    ]
    assert sorted(found) == sorted(expected)


def _known(values: object) -> dict[str, object]:
    """The drawn columns of a row as the definition gives it: text of sorted pairs."""
    pairs = dict(ast.literal_eval(str(values)))
    return {name: value for name, value in pairs.items() if name in TYPED}
