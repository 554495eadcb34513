"""Weights of partitions from a file."""

from __future__ import annotations

import pytest

from kreplica.errors import InputError
from kreplica.planner.reassignment.weights_file import parse_weights


def test_a_line_is_a_partition_and_its_weight() -> None:
    text = "# bytes in\ntopic,partition,weight\n\norders,0,30000\n orders , 1 , 7 \ntopic,2,0\n"
    assert parse_weights(text, "w.csv") == {("orders", 0): 30000, ("orders", 1): 7, ("topic", 2): 0}
    assert parse_weights("", "w.csv") == {}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("orders,1", "a line is topic,partition,weight"),
        ("orders,1,2,3", "a line is topic,partition,weight"),
        (",1,2", "a line is topic,partition,weight"),
        ("orders,-1,2", "-1 is no whole number from 0 to 2147483647"),
        ("orders,2147483648,2", "2147483648 is no whole number"),
        ("orders,1,1.5", "1.5 is no whole number from 0 to 1125899906842624"),
        ("orders,1,1125899906842625", "1125899906842625 is no whole number"),
        ("orders,1,²", "² is no whole number"),
        ("orders,0,1", "partition orders-0 has a weight already"),
        ("topic,partition,weight", "partition is no whole number"),
    ],
)
def test_another_line_is_refused_with_its_number(line: str, reason: str) -> None:
    with pytest.raises(InputError, match=r"w\.csv, line 2") as raised:
        parse_weights(f"orders,0,1\n{line}\n", "w.csv")
    assert reason in str(raised.value)
