"""Mutes over findings: which are covered, and when it got worse, against a count at every moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.config.mutes import Mute
from kreplica.fleet.known.worsening import AppliedMute, Stretch, apply_mutes, muted_keys
from kreplica.health.rules import Severity

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
RULE = "under-replicated"


def at(hour: int) -> datetime:
    return EPOCH + timedelta(hours=hour)


def ms(hour: int) -> int:
    return hour * 3_600_000


def mute(made: int = 5, **values: Any) -> Mute:
    return Mute(RULE, at(1000), at(made), **values)


def stretch(first: int, last: int, findings: int = 1, **values: Any) -> Stretch:
    ended = values.pop("ended", None)
    given_: dict[str, Any] = {"cluster": "c1", "rule": RULE, "severity": Severity.WARNING, "topic": "orders"}
    told = {**given_, **values}
    return Stretch(**told, first_ms=ms(first), last_ms=ms(last), ended_ms=ended and ms(ended), findings=findings)


def applied(*some: Stretch, made: int = 5, read_from: int = 0) -> AppliedMute:
    (one,) = apply_mutes([mute(made)], some, {"c1": "prod"}, {"c1": at(read_from)})
    return one


def test_what_stays_or_heals_does_not_break_a_mute() -> None:
    one = applied(stretch(1, 9, 3), stretch(1, 4, 2))
    assert (one.findings, one.before.findings, one.after.findings, one.is_broken) == (5, 5, 0, False)


def test_more_at_one_moment_than_at_any_before_breaks_it() -> None:
    assert not applied(stretch(1, 9, 3), stretch(1, 4, 2), stretch(6, 7, 2)).is_broken
    worse = applied(stretch(1, 9, 3), stretch(1, 4, 2), stretch(6, 7, 3))
    assert (worse.before.findings, worse.after.findings, worse.is_broken) == (5, 6, True)


def test_what_comes_and_goes_as_before_does_not_break_it() -> None:
    nights = [stretch(night, night + 1, 40) for night in (0, 3, 6, 9)]
    assert not applied(*nights).is_broken
    assert applied(*nights, stretch(9, 9)).is_broken


def test_a_higher_severity_breaks_it_and_a_lower_does_not() -> None:
    assert applied(stretch(1, 4, 2), stretch(6, 7, severity=Severity.CRITICAL)).is_broken
    assert not applied(stretch(1, 4, 2), stretch(6, 7, severity=Severity.INFO)).is_broken


def test_a_mute_made_before_there_was_any_bears_what_comes_up_to_the_severity_of_the_first() -> None:
    planned = (stretch(6, 7, 3), stretch(8, 9, 70), stretch(10, 11, severity=Severity.INFO))
    assert not applied(*planned).is_broken
    assert (applied(*planned).bears, applied(*planned).usual) == (None, Severity.WARNING)
    graver = applied(*planned, stretch(8, 8, severity=Severity.CRITICAL))
    assert (graver.is_broken, graver.has_more, graver.is_graver) == (True, False, True)
    assert not applied(stretch(6, 7, severity=Severity.CRITICAL), stretch(6, 7), stretch(8, 9, 70)).is_broken


def test_a_mute_that_says_how_many_it_bears_bears_so_many_whatever_was_before() -> None:
    for before in ([], [stretch(1, 2, 90)], [stretch(1, 2, 1)]):
        some = [*before, stretch(6, 7, 40), stretch(8, 9, 2)]
        (one,) = apply_mutes([mute(at_most=40)], some, {}, {})
        assert (one.is_broken, one.bears) == (False, 40)
        (one,) = apply_mutes([mute(at_most=39)], some, {}, {})
        assert (one.is_broken, one.has_more, one.is_graver) == (True, True, False)


def test_where_nothing_before_is_read_the_first_moment_stands_for_it() -> None:
    some = (stretch(20, 29, 3), stretch(25, 29))
    assert applied(*some, read_from=20).before.findings == 3
    assert applied(*some, read_from=20).is_broken
    assert not applied(some[0], read_from=20).is_broken
    assert not applied(some[0], read_from=19).is_broken  # nothing was there then: it is what the mute was made for


def test_a_run_to_the_record_is_over_when_the_next_begins() -> None:
    assert not applied(stretch(1, 6, ended=6), stretch(6, 7, ended=7)).is_broken
    assert applied(stretch(1, 6), stretch(6, 7)).is_broken
    assert applied(stretch(1, 6, ended=6), stretch(6, 7, 2)).is_broken
    assert applied(stretch(6, 6, ended=6)).after.findings == 1, "an event is there at its moment"


def test_clusters_are_weighed_each_by_itself() -> None:
    some = [stretch(1, 9, 9), stretch(1, 9, cluster="c2"), stretch(6, 9, cluster="c2", topic=None)]
    healthy, worse = apply_mutes([mute()], some, {}, {})
    assert (healthy.cluster, healthy.is_broken) == ("c1", False)
    assert (worse.cluster, worse.is_broken) == ("c2", True)
    assert muted_keys([healthy, worse]) == {("c1", RULE, "orders")}


@pytest.mark.parametrize(
    ("values", "covered"),
    [
        ({}, {("c1", "orders"), ("c1", None), ("c2", "payments")}),
        ({"cluster": "c1"}, {("c1", "orders"), ("c1", None)}),
        ({"cluster": "prod-*"}, {("c1", "orders"), ("c1", None)}),
        ({"topic": "[op]*s"}, {("c1", "orders"), ("c2", "payments")}),
        ({"topic": "*"}, {("c1", "orders"), ("c2", "payments")}),
        ({"cluster": "c2", "topic": "orders"}, set()),
        ({"cluster": "PROD-*"}, set()),
    ],
)
def test_patterns_say_what_is_covered(values: dict[str, Any], covered: set[tuple[str, str | None]]) -> None:
    some = [stretch(1, 2), stretch(1, 2, topic=None), stretch(1, 2, cluster="c2", topic="payments")]
    some.append(stretch(1, 2, rule="offline"))
    found = apply_mutes([mute(**values)], some, {"c1": "prod-eu", "c2": "test"}, {})
    assert {(cluster, topic) for cluster, _, topic in muted_keys(found)} == covered


def test_what_one_mute_covers_is_muted_though_another_is_broken() -> None:
    some = [stretch(1, 9, topic="orders"), stretch(6, 9, topic="new")]
    found = apply_mutes([mute(), mute(topic="orders")], some, {}, {})
    assert [one.is_broken for one in found] == [True, False]
    assert muted_keys(found) == {("c1", RULE, "orders")}


HOURS = st.integers(0, 12)
SOME = st.lists(
    st.tuples(HOURS, HOURS, st.integers(1, 3), st.sampled_from(list(Severity)), st.booleans()), min_size=1, max_size=8
)


@examples(2)
@given(some=SOME, made=HOURS, read_from=HOURS)
def test_levels_are_those_of_a_count_at_every_moment(some: Any, made: int, read_from: int) -> None:
    runs = [(min(a, b), max(a, b), number, severity, exact) for a, b, number, severity, exact in some]
    one = applied(
        *(stretch(a, b, number, severity=word, ended=b if exact else None) for a, b, number, word, exact in runs),
        made=made,
        read_from=read_from,
    )

    def on(hour: float) -> list[tuple[int, Severity]]:
        """Numbers and severities of what is there; a run to the record is over at its last moment, unless it is one."""
        return [
            (number, word)
            for a, b, number, word, exact in runs
            if a <= hour and (hour < b or (hour == b and (not exact or b in (a, 0))))
        ]

    since = max(made, read_from)
    before, begun = range(since + 1), [hour for hour in range(since + 1, 13) if any(run[0] == hour for run in runs)]
    assert one.before.findings == max(sum(number for number, _ in on(hour)) for hour in before)
    assert one.after.findings == max((sum(number for number, _ in on(hour)) for hour in begun), default=0)
    words = [word for a, _, _, word, _ in runs if a <= since]
    assert one.before.severity == (max(words, key=lambda word: word.rank) if words else None)
