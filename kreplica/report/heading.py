"""The words above a picture: apart from it, since an answer has them without drawing anything."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Heading:
    """The words above a picture.

    Args:
        title: What was played.
        verdict: What came out, in a line.
        look: ``bad``, ``odd`` or ``good``.
        story: What it is about.
        logs: Above the frames.
    """

    title: str
    verdict: str = ""
    look: str = "good"
    story: str = ""
    logs: str = "Logs after the steps that matter"
