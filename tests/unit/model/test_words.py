"""Numbers with their nouns, and lists, as sentences have them."""

from __future__ import annotations

from kreplica.model.wording.words import all_counted, are, counted, ids, listed, named


def test_a_number_agrees_with_its_noun() -> None:
    assert [counted(number, "entry", "entries") for number in (0, 1, 2)] == ["0 entries", "1 entry", "2 entries"]
    assert counted(3, "broker") == "3 brokers"
    assert [all_counted(number, "topic") for number in (1, 2)] == ["the only topic", "all 2 topics"]
    assert [are(number) for number in (0, 1, 2)] == ["are", "is", "are"]


def test_a_list_names_the_first_and_counts_the_rest() -> None:
    assert listed([]) == ""
    assert listed([1, 2, 3]) == listed([1, 2, 3], 3) == "1, 2, 3"
    assert listed([1, 2, 3], 2) == "1, 2 and 1 more"


def test_a_list_has_a_noun_in_front() -> None:
    assert named("broker", [7]) == "broker 7"
    assert named("broker", [7, 8, 9], 1) == "brokers 7 and 2 more"


def test_ids_without_any_are_none() -> None:
    assert (ids([3, 1]), ids([])) == ("3,1", "none")
