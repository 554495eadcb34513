"""Where the fields stand by which a batch is told from other bytes; the whole of it is drawn in ``batches``.

What differs by magic is a tuple with a place for each.
"""

from __future__ import annotations

PREFIX_BYTES = 12
"""Offset and length, which the length does not count."""
HEADER_BYTES = 61
"""Of magic 2."""
LEAST_BYTES = (26, 34, HEADER_BYTES)
"""The shortest batch, prefix included."""

LENGTH_AT = 8
MAGIC_AT = 16
CRC_AT = (12, 12, 17)
CHECKED_FROM = (16, 16, 21)
"""The checksum is that of the bytes from here on: CRC-32, of magic 2 CRC-32C."""

ATTRIBUTES_AT = (17, 17, 21)
KEY_AT = (18, 26)
"""Where a message of magic 0 or 1 says how long its key is."""
TIMESTAMP_AT = 18
"""Of magic 1."""
LAST_OFFSET_DELTA_AT = 23
PRODUCER_EPOCH_AT = 51
COUNT_AT = 57
"""Of magic 2."""
