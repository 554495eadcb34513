"""Weights of partitions from a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kreplica.errors import InputError
from kreplica.sources.partition_weights import read_weights


def file_of(folder: Path, text: str) -> Path:
    path = folder / "weights.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_weights_by_partition(tmp_path: Path) -> None:
    text = 'topic,partition,weight\norders,0,30000\n"orders",1,7.6\n\naudit.log,0,0\n'
    assert read_weights(file_of(tmp_path, text)) == {("orders", 0): 30000, ("orders", 1): 8, ("audit.log", 0): 0}


WRONG = {
    "": "line 1; expected topic,partition,weight, found nothing",
    "orders,0,1\n": "line 1; expected topic,partition,weight, found orders,0,1",
    "topic,partition,weight\norders,0\n": "line 2; expected a topic, a partition and a number",
    "topic,partition,weight\norders,x,1\n": "line 2; expected a topic, a partition and a number",
    "topic,partition,weight\norders,0,-1\n": "line 2; the weight -1 is not from 0 to",
    "topic,partition,weight\norders,0,nan\n": "line 2; the weight nan is not from 0 to",
    "topic,partition,weight\norders,0,1e300\n": "line 2; the weight 1e300 is not from 0 to",
    "topic,partition,weight\norders,0,1\norders,0,2\n": "line 3; orders-0 is named a second time",
    'topic,partition,weight\n"orders,0,1\n': "line 2; unexpected end of data",
}


@pytest.mark.parametrize(("text", "said"), WRONG.items())
def test_what_is_no_weight_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_weights(file_of(tmp_path, text))
    assert said in str(refused.value)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.csv"
    path.write_bytes(b"topic,partition,weight\n\xff,0,1\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read_weights(path)
    with pytest.raises(InputError, match="no such file"):
        read_weights(tmp_path / "nothing.csv")
