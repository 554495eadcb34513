"""The one meaning of "cannot know" for every gate: what a snapshot lacks for the answer that all is well.

A gate (describe with a filter, check, wait, safe-to-stop, roll) answers 1 on what it saw to be wrong, and 0 only where
it saw all that it judges. Whatever is hidden, silent, torn, unknown, empty or too old makes it 5.
"""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass, field, replace
from datetime import datetime

from kreplica.errors import ExitCode
from kreplica.model.snapshot import ClusterSnapshot, Gap, utc_now
from kreplica.model.wording.durations import spell_duration

NOTHING_TO_JUDGE = "nothing-to-judge"
STALE = "stale"


@dataclass(frozen=True, slots=True)
class Freshness:
    """Limit of the age of a dump.

    Args:
        most_seconds: The greatest age, None for any.
        now: The present, UTC.
    """

    most_seconds: float | None = None
    now: datetime = field(default_factory=utc_now)


def for_gate(snapshot: ClusterSnapshot, freshness: Freshness) -> ClusterSnapshot:
    """Adds to the snapshot's gaps what else a gate needs: something to judge, and a dump that is recent enough.

    Args:
        snapshot: The partitions that are judged.
        freshness: How old it may be if it is a dump.
    """
    found = [] if len(snapshot.partitions) else [Gap(NOTHING_TO_JUDGE, "there is no partition to judge", 1)]
    age = snapshot.age_seconds(freshness.now)
    if age is not None and freshness.most_seconds is not None and abs(age) > freshness.most_seconds:
        found.append(Gap(STALE, _stale(age, freshness.most_seconds), 1))
    known = {gap.kind for gap in snapshot.gaps}
    return replace(snapshot, gaps=(*snapshot.gaps, *(gap for gap in found if gap.kind not in known)))


def _stale(age: float, most: float) -> str:
    length = spell_duration(round(abs(age)))
    how = f"{length} old" if age >= 0 else f"of {length} in the future"
    return f"the dump is {how}, at most {spell_duration(most)} are taken (--max-age)"


def gate_code(against: Sized | bool, missing: Sized) -> ExitCode:
    """The exit code of a gate: what is wrong comes before what is missing.

    Args:
        against: What was seen to be wrong.
        missing: What was not seen.
    """
    if against if isinstance(against, bool) else len(against):
        return ExitCode.FINDINGS
    return ExitCode.INCOMPLETE if len(missing) else ExitCode.OK
