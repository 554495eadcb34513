"""Positions of the fields that tell a batch from other bytes; the whole layout is drawn in ``batches``.

Positions that differ by magic are tuples with an element for each.
"""

from __future__ import annotations

PREFIX_BYTES = 12
"""Bytes of offset and length, which the length does not count."""
HEADER_BYTES = 61
"""Header bytes of magic 2."""
LEAST_BYTES = (26, 34, HEADER_BYTES)
"""Bytes of the shortest batch, prefix included."""

LENGTH_AT = 8
MAGIC_AT = 16
CRC_AT = (12, 12, 17)
CHECKED_FROM = (16, 16, 21)
"""The checksum is that of the bytes from here on: CRC-32, of magic 2 CRC-32C."""

ATTRIBUTES_AT = (17, 17, 21)
KEY_AT = (18, 26)
"""Position of the key length in a message of magic 0 or 1."""
TIMESTAMP_AT = 18
"""Position of the timestamp in magic 1."""
LAST_OFFSET_DELTA_AT = 23
PRODUCER_EPOCH_AT = 51
COUNT_AT = 57
"""Position of the records count in magic 2."""
