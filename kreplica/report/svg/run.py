"""A whole run as one picture, from its events alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kreplica.engine.setup import KAFKAS_OWN
from kreplica.engine.trace import Event, Kind
from kreplica.report.heading import Heading
from kreplica.report.log_frames import log_frames
from kreplica.report.log_strips import log_strips
from kreplica.report.loss_marks import loss_marks
from kreplica.report.moments import between, moments
from kreplica.report.svg.space_time import space_time_svg


def run_picture(
    heading: Heading,
    events: Sequence[Event],
    partition: str | None = None,
    lost: Sequence[str] = (),
    doubled: Sequence[str] = (),
    first: int = 0,
    last: int | None = None,
) -> str:
    """An SVG document: frames of the partition that has records that matter, the diagram, the logs at the end.

    Args:
        heading: The words above; those of the frames are added.
        events: A whole trace.
        partition: Whose logs are framed; if None, of the first that has records that matter, or most changes of leader.
        lost: Acknowledged records that are lost.
        doubled: Records that can be read more than once.
        first, last: What happens outside of these times is not drawn, in microseconds.
    """
    found = loss_marks(events, lost, doubled)
    marks = {id(events[mark.number]): mark for mark in found}
    framed = partition or next((mark.partition for mark in found), None) or _most_eventful(events)
    frames = log_frames(moments(events, quiet=frozenset()), framed, marks, first, last)
    shown = between(moments(events), first, events[-1].time if last is None and events else last or 0)
    strips = sorted(log_strips(events, last), key=lambda strip: strip.partition != framed)
    return space_time_svg(
        Heading(
            heading.title, heading.verdict, heading.look, heading.story, f"Logs of {framed} after the steps that matter"
        ),
        shown,
        strips,
        frames,
        marks,
    )


def _most_eventful(events: Sequence[Event]) -> str:
    """The partition of an application that changed leaders or cut logs most often, the first of several."""
    counts: Counter[str] = Counter()
    for event in events:
        if event.kind in _CHANGES and not str(event.values[0]).startswith(KAFKAS_OWN):
            counts[str(event.values[0])] += 1
    return max(counts, key=counts.__getitem__, default="")


_CHANGES = frozenset((Kind.BECAME_LEADER, Kind.NO_LEADER, Kind.TRUNCATED, Kind.LOG_START))
