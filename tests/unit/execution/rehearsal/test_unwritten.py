"""Time without writes, held against a count of every microsecond."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine.setup import SECOND
from kreplica.engine.trace import Event, Kind
from kreplica.execution.rehearsal.unwritten import Unwritten, covered

SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda pair: (min(pair), max(pair))))


@given(SPANS)
def test_what_spans_cover_is_counted_once(spans: list[tuple[int, int]]) -> None:
    assert covered(spans) == len({moment for begin, end in spans for moment in range(begin, end)})


def spans_of(*events: tuple[int, str, str, str]) -> dict[str, list[tuple[int, int]]]:
    fold = Unwritten()
    for time, kind, partition, value in events:
        fold(Event(time, kind, "writer", (partition, value, -1)))
    return fold.spans(100 * SECOND)


def test_a_record_that_is_taken_late_counts_from_its_send() -> None:
    assert spans_of(
        (1, Kind.SENT, "a-0", "quick"),
        (2, Kind.ACKNOWLEDGED, "a-0", "quick"),
        (3, Kind.SENT, "a-0", "late"),
        (4, Kind.SENT, "b-0", "just in time"),
        (4 + SECOND, Kind.ACKNOWLEDGED, "b-0", "just in time"),
        (3 + 9 * SECOND, Kind.ACKNOWLEDGED, "a-0", "late"),
    ) == {"a-0": [(3, 3 + 9 * SECOND)]}


def test_a_record_that_is_never_taken_counts_until_its_send_fails_or_to_the_end() -> None:
    assert spans_of(
        (5, Kind.SENT, "a-0", "refused"),
        (9, Kind.SEND_FAILED, "a-0", "refused"),
        (7, Kind.SENT, "b-0", "open"),
        (100 * SECOND - 1, Kind.SENT, "c-0", "sent last"),
    ) == {"a-0": [(5, 9)], "b-0": [(7, 100 * SECOND)]}
