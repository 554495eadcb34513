"""Numbers of java.util.Random, against those that Java drew (tests/golden/kafka-classes)."""

from __future__ import annotations

from pathlib import Path

import pytest

from kreplica.planner.java_random import JavaRandom

DRAWN = Path(__file__).parents[2] / "golden" / "kafka-classes" / "random-numbers.txt"
LINES = [line.removeprefix("random ").split("|") for line in DRAWN.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("seed", "bounds", "numbers"), LINES, ids=[line[0] for line in LINES])
def test_numbers_are_javas(seed: str, bounds: str, numbers: str) -> None:
    random = JavaRandom(int(seed))
    assert [random.next_int(int(bound)) for bound in bounds.split()] == [int(number) for number in numbers.split()]
