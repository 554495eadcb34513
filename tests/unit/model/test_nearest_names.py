"""Names that an error offers for one that is not known."""

from __future__ import annotations

import pytest

from kreplica.engine.settings import SETTINGS
from kreplica.model.wording.nearest_names import LISTED, nearest_names, nearest_or_known

NUMBERS = [f"n{number}" for number in range(LISTED + 1)]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("ack", "acks"),
        ("min.insync.replica", "min.insync.replicas"),
        ("lag.max.ms", "replica.lag.time.max.ms"),
        ("unclean.election", "unclean.leader.election.enable"),
        ("ENABLE.IDEMPOTENT", "enable.idempotence"),
    ],
)
def test_the_nearest_comes_first(name: str, nearest: str) -> None:
    found = nearest_names(name, SETTINGS)
    assert found[0] == nearest
    assert len(found) <= 3


def test_nothing_is_near() -> None:
    assert nearest_names("qqq", SETTINGS) == []
    assert nearest_names("", SETTINGS) == []
    assert nearest_names("acks", ()) == []


def test_no_word_is_a_word_of_everything() -> None:
    assert nearest_names("..", ["a.b"]) == []


@pytest.mark.parametrize(
    ("name", "known", "told"),
    [
        ("oders", ["orders", "bills"], "did you mean orders?"),
        ("qqq", ["orders", "bills"], "one of orders, bills"),
        ("qqq", [], "there is none"),
        ("n7q", NUMBERS, "did you mean n7?"),
        ("qqq", NUMBERS, "there are 13, the nearest are n9, n8, n7"),
    ],
)
def test_in_words(name: str, known: list[str], told: str) -> None:
    assert nearest_or_known(name, known) == told


def test_an_unknown_name_is_never_answered_by_sixty() -> None:
    told = nearest_or_known("qqq", SETTINGS)
    assert sum(name in told.replace("?", "").replace(",", "").split() for name in SETTINGS) == 3
