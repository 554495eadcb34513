"""Two snapshots compared, as compare shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kreplica.errors import ExitCode

if TYPE_CHECKING:
    from kreplica.model.comparison import Comparison
    from kreplica.model.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True)
class Compared:
    """The whole answer.

    Args:
        sides: The snapshots of the last reading, left and right.
        comparison: Their differences, without those seen in one reading only.
        passing: Number of differences seen in one of two readings.
    """

    sides: tuple[ClusterSnapshot, ClusterSnapshot]
    comparison: Comparison
    passing: int

    @property
    def exit_code(self) -> ExitCode:
        """1 with differences, 5 where something could not be read, else 0."""
        if self.comparison.differences:
            return ExitCode.FINDINGS
        return ExitCode.INCOMPLETE if any(side.gaps for side in self.sides) else ExitCode.OK
