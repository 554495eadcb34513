"""Rows of describe are gathered on the screen where that saves lines, and each row is in the group of its like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from clusters.generated import partition, snapshot_of

from commands.describe.gathering import gathered, print_groups
from commands.shared.printing.screen import MOST_LISTED
from commands.shared.printing.terminal import stdout_console
from kreplica.health.listing import partition_rows
from kreplica.model.predicates.evaluate import Evaluator

BROKERS = [{"broker": broker, "alive": broker != 3, "fenced": broker == 3} for broker in (1, 2, 3, 4)]


def rows_of(partitions: Sequence[dict[str, Any]]) -> list[dict[str, object]]:
    evaluator = Evaluator(snapshot_of(partitions, BROKERS))
    return partition_rows(evaluator, np.arange(len(partitions)))


def missing_3(number: int, **fields: Any) -> dict[str, Any]:
    """Partitions that differ in the order of their ids and in their leader."""
    leader = 1 + number % 2
    isr = [leader, 3 - leader]
    return partition(number=number, **{"leader": leader, "replicas": [*isr, 3], "isr": isr, **fields})


def numbers(groups: Sequence[Sequence[Any]]) -> list[list[object]]:
    return [[row["partition"] for row in rows] for rows in groups]


def test_partitions_in_one_state_for_one_cause_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    groups = gathered(rows_of([missing_3(number) for number in range(30)]))
    assert numbers(groups) == [list(range(30))]
    print_groups(groups, stdout_console())
    header, line = capsys.readouterr().out.splitlines()
    assert header.split() == ["TOPIC", "PARTITIONS", "LEADER", "ISR", "MIN_ISR", "MISSING", "CAUSES"]
    assert line.split()[:6] == ["orders", "0-29", "1,2", "1,2", "2", "3"]
    assert line.endswith("broker 3 gone (fenced by the controller)")


@pytest.mark.parametrize(
    "fields",
    [
        {"topic": "returns"},
        {"isr": [1]},
        {"min_isr": 1},
        {"leader": -1},
        {"elr": [3]},
        {"adding": [2]},
        {"removing": [3]},
        {"offline_replicas": [3]},
        {"replicas": [1, 2, 4]},
    ],
)
def test_another_topic_cause_or_state_is_another_line(fields: dict[str, Any]) -> None:
    partitions = [missing_3(number) for number in range(30)]
    other = {**partitions[7], **fields}
    groups = gathered(rows_of([*partitions[:7], other, *partitions[8:]]))
    assert numbers(groups) == [[*range(7), *range(8, 30)], [7]]


def test_what_a_group_would_hide_or_not_shorten_is_listed() -> None:
    few = [missing_3(number) for number in range(MOST_LISTED)]
    assert gathered(rows_of(few)) == []
    assert gathered(rows_of([*few, missing_3(MOST_LISTED)])) != []
    complete = [partition(number=number, leader=2) for number in range(30)]
    assert gathered(rows_of(complete)) == []  # the order of their replicas is what matters
    assert gathered(rows_of([missing_3(0, topic=f"t{number:02}") for number in range(30)])) == []


def test_clusters_stay_apart(capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of([missing_3(number) for number in range(15)])
    groups = gathered([{"cluster": name, **row} for name in ("east", "west") for row in rows])
    assert numbers(groups) == [list(range(15))] * 2
    print_groups(groups, stdout_console())
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["CLUSTER", "east", "west"]
