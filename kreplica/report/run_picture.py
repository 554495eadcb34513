"""A whole run as one picture, from its events alone."""

from __future__ import annotations

from collections.abc import Sequence

from kreplica.engine.log_frames import log_frames
from kreplica.engine.log_strips import log_strips
from kreplica.engine.loss_marks import loss_marks
from kreplica.engine.moments import between, moments
from kreplica.engine.trace import Event
from kreplica.report.space_time_svg import Heading, space_time_svg


def run_picture(
    heading: Heading,
    events: Sequence[Event],
    partition: str,
    lost: Sequence[str] = (),
    doubled: Sequence[str] = (),
    first: int = 0,
    last: int | None = None,
) -> str:
    """An SVG document: frames of the partition that has records that matter, the diagram, the logs at the end.

    Args:
        heading: The words above; those of the frames are added.
        events: A whole trace.
        partition: Whose logs are framed where no record is lost or doubled.
        lost: Acknowledged records that are lost.
        doubled: Records that can be read more than once.
        first, last: What happens outside of these times is not drawn, in microseconds.
    """
    found = loss_marks(events, lost, doubled)
    marks = {id(events[mark.number]): mark for mark in found}
    framed = next((mark.partition for mark in found), partition)
    frames = log_frames(moments(events, quiet=frozenset()), framed, marks, first, last)
    told = between(moments(events), first, events[-1].time if last is None and events else last or 0)
    strips = sorted(log_strips(events, last), key=lambda strip: strip.partition != framed)
    return space_time_svg(
        Heading(
            heading.title, heading.verdict, heading.look, heading.story, f"Logs of {framed} after the steps that matter"
        ),
        told,
        strips,
        frames,
        marks,
    )
