"""The offset or time up to which a log is read, to give its state as of then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kreplica.formats.segments.columns import RecordColumns


@dataclass(frozen=True, slots=True)
class AsOf:
    """The offset or the time of a past state; with neither, the end of the log.

    Args:
        offset: The first offset that is left out: the log end offset of that state, as in the names of KRaft
            checkpoints.
        timestamp: The last timestamp that is included, ms since the epoch.
    """

    offset: int | None = None
    timestamp: int | None = None

    @property
    def given(self) -> bool:
        """True if an offset or a time is given."""
        return self.offset is not None or self.timestamp is not None

    def includes(self, records: RecordColumns) -> NDArray[np.bool_] | None:
        """Mask of the records that are included; None for all."""
        if self.offset is not None:
            return records.offset < self.offset
        return None if self.timestamp is None else records.timestamp <= self.timestamp

    def select(self, records: RecordColumns) -> RecordColumns:
        """The records that are included."""
        included = self.includes(records)
        return records if included is None or included.all() else records.take(included)
