"""Lives: states by the definition, without the cuts of months; every snapshot is in a state, an absence or unknown."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from examples import examples
from histories.folders import FIXED, candidate, moment, values
from histories.observations import HOUR, KEYS, MARCH, observations, observed
from hypothesis import example, given
from hypothesis import strategies as st

from kreplica.errors import UsageError
from kreplica.history.ingest import ingest
from kreplica.history.lives.log_line import Moments
from kreplica.history.lives.reading import lives_in
from kreplica.history.lives.rows import PartitionStretch, TopicStretch, told_value
from kreplica.history.lives.stretches import Stretch, StretchKind, in_order, stretches
from kreplica.history.lives.told_line import Line, glances
from kreplica.history.model import Key, Observation, fold
from kreplica.history.selection import KeyFilter, choose
from kreplica.history.tables import TABLES
from kreplica.store.selection import Wanted
from kreplica.system.stores.storage import LocalStorage

SHOWN = ("leader", "elr")
ORDERS, OTHERS = KEYS[:2]


def life(some: Sequence[Observation], key: Key, wanted: Wanted) -> tuple[Line, list[Stretch]]:
    with tempfile.TemporaryDirectory() as folder:
        ingest([candidate(one) for one in some], LocalStorage(Path(folder)))
        line = Line(choose(LocalStorage(Path(folder)), wanted).months)
        return line, stretches(glances(line, TABLES[0], KeyFilter("topic", str(key[0])), key), SHOWN)


def plain(known: dict[str, object]) -> dict[str, object]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in known.items()}


def in_one_month(some: Sequence[Observation]) -> list[Observation]:
    """The observations in the same order, some seconds apart: nothing is cut."""
    return [replace(one, taken_at=MARCH + (one.taken_at - MARCH) // 3600) for one in some]


LATER_KNOWN = [
    observed(0, {ORDERS: {"leader": 0}}),
    observed(3, {ORDERS: {"isr": 1}}, whole=False),
    observed(5, {}, whole=False),
    observed(6, {ORDERS: {"leader": 0}}),
]


@examples(0.5)
@example(LATER_KNOWN, KEYS[0], -1, 12)
@given(observations(), st.sampled_from(KEYS), st.integers(-1, 6), st.integers(5, 12))
def test_states_are_the_runs_of_the_definition_without_cuts(
    some: list[Observation], key: Key, since: int, until: int
) -> None:
    wanted = Wanted((), moment(MARCH + since * HOUR), moment(MARCH + until * HOUR))
    inside = [one for one in some if since * HOUR <= one.taken_at - MARCH <= until * HOUR]
    line, found = life(some, key, wanted)
    ordered = sorted(inside, key=lambda one: one.place)
    assert [one.digest for one in line.seen] == [one.digest for one in ordered]
    digests = {one.digest: number for number, one in enumerate(ordered)}
    defined = [
        (digests[run.first.digest], digests[run.last.digest], run.ended and digests[run.ended.digest], run.values)
        for run in fold(in_one_month(inside))
        if run.key == key
    ]
    states = [one for one in found if one.kind is StretchKind.STATE]
    assert [(one.first, one.last, one.ended, one.values) for one in states] == sorted(
        ((*places, plain({**FIXED, **values(known)})) for *places, known in defined), key=lambda one: one[0]
    )
    for before, after in itertools.pairwise(states):
        assert after.before == before.values


@examples(0.5)
@given(observations(), st.sampled_from(KEYS))
def test_every_snapshot_is_in_a_state_or_an_absence_or_unknown(some: list[Observation], key: Key) -> None:
    line, found = life(some, key, Wanted())
    by_digest = {one.digest: one for one in some}
    ordered = [by_digest[one.digest] for one in line.seen]
    for number, one in enumerate(ordered):
        kind = StretchKind.STATE if key in one.rows else StretchKind.ABSENT if one.whole else StretchKind.UNKNOWN
        around = [stretch for stretch in found if stretch.first <= number <= stretch.last and not stretch.lacking]
        assert kind in {stretch.kind for stretch in around}
    for stretch in found:
        of = ordered[stretch.first : stretch.last + 1]
        here, gone = [key in one.rows for one in of], [key not in one.rows and one.whole for one in of]
        if stretch.kind is StretchKind.STATE:
            assert (sum(here), any(gone)) == (stretch.snapshots, False)
        elif stretch.kind is StretchKind.ABSENT:
            assert (sum(gone), any(here)) == (stretch.snapshots, False)
        elif not stretch.lacking:
            assert (any(here), any(gone), stretch.snapshots) == (False, False, len(of))


def test_columns_that_were_not_told_inside_a_state_are_a_stretch() -> None:
    some = [
        observed(0, {ORDERS: {"leader": 1, "isr": 1}}),
        observed(1, {ORDERS: {"isr": 1}}),
        observed(2, {ORDERS: {"isr": 1}, OTHERS: {"leader": 1}}),
        observed(3, {ORDERS: {}}),
        observed(5, {ORDERS: {"leader": 1, "isr": 1}}),
    ]
    _, found = life(some, ORDERS, Wanted())
    assert [(one.kind.value, one.first, one.last, one.ended, one.snapshots, one.lacking) for one in found] == [
        ("state", 0, 4, None, 5, ()),
        ("unknown", 1, 2, 3, 2, ("leader",)),
        ("unknown", 3, 3, 4, 1, ("leader", "elr")),
    ]


def test_a_pause_is_a_stretch_between_two_snapshots() -> None:
    some = [observed(hours, {ORDERS: {"leader": 1}}) for hours in (0, 1, 2, 3, 9, 10)]
    line, found = life(some, ORDERS, Wanted())
    every = in_order([*found, *Moments(line).pauses()])
    assert [(one.kind.value, one.first, one.last, one.ended, one.snapshots) for one in every] == [
        ("state", 0, 5, None, 6),
        ("pause", 3, 3, 4, 0),
    ]


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("leader", -1, "none"),
        ("leader", 0, "0"),
        ("leader", None, "null"),
        ("min_isr", -1, "-1"),
        ("min_isr", None, "null"),
        ("isr", (), "none"),
        ("isr", (2, 1), "2,1"),
        ("internal", True, "yes"),
        ("internal", False, "no"),
    ],
)
def test_values_are_told_as_people_write_them(column: str, value: Hashable, told: str) -> None:
    assert told_value(column, value) == told


def test_a_word_that_names_no_topic_may_be_one_and_a_partition(tmp_path: Path) -> None:
    rows: dict[Key, dict[str, int]] = {("orders", 0): {"leader": 0}, ("orders", 2): {"leader": 0}}
    ingest([candidate(observed(0, {**rows, ("orders-7", 0): {"leader": 1}}))], LocalStorage(tmp_path))

    def of(topic: str, partition: int | None = None) -> tuple[str, type]:
        found = lives_in(LocalStorage(tmp_path), topic, partition)
        return found.what, found.row

    assert of("orders-2") == of("orders", 2) == ("orders-2", PartitionStretch)
    assert of("orders") == ("orders", TopicStretch)
    assert of("orders-7") == ("orders-7", TopicStretch), "a topic of that name comes first"
    assert of("orders-7", 0) == ("orders-7-0", PartitionStretch)
    for topic, partition in (("orders-2", 0), ("orders-2", 2), ("orders-x", None), ("orders-00000000002", None)):
        with pytest.raises(UsageError, match=f"no topic {topic} in"):
            of(topic, partition)
