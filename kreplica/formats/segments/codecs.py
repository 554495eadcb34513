"""Compressed records, inflated under a limit.

gzip     RFC 1952, also several members in a row
snappy   xerial framing (SnappyOutputStream):  82 'S' 'N' 'A' 'P' 'P' 'Y' 00, version int32, compatible int32,
         then blocks: length int32, raw snappy. Without that beginning: one raw snappy block (librdkafka)
lz4      LZ4 frame. Producers of magic 0 computed the header checksum over the frame's magic too (KAFKA-3160)
zstd     Zstandard frames (KIP-110)
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from types import ModuleType

from kreplica.formats.segments.batches import Codec

MOST_INFLATED_BYTES = 128 << 20
"""Bytes that one batch may inflate to: a bomb of a kilobyte must not take the machine's memory."""
FIRST_GUESS, GROWTH = 8, 8

XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER_BYTES = 16
MASK = 0xFFFFFFFF


Inflated = bytes | memoryview


class InflateError(ValueError):
    """Compressed bytes that cannot be inflated; the text is the reason."""


def inflate(codec: int, content: bytes, *, magic: int = 2, most: int = MOST_INFLATED_BYTES) -> Inflated:
    """Inflates compressed bytes.

    Args:
        codec: Number of the codec, as in a batch's attributes.
        content: Compressed bytes.
        magic: Version of their batch.
        most: The most bytes it may become.

    Raises:
        InflateError: They are damaged, of no known codec, or become too many.
    """
    if codec not in _INFLATERS:
        raise InflateError(f"unknown codec {codec}")
    if codec == Codec.lz4 and magic == 0:
        content = _with_right_header_checksum(content)
    return _INFLATERS[Codec(codec)](content, most)


def _gzip(content: bytes, most: int) -> bytes:
    parts, left = [], most
    while content:
        member = zlib.decompressobj(wbits=31)
        try:
            part = member.decompress(content, left + 1)
        except zlib.error as error:
            raise InflateError(f"gzip: {error}") from None
        left -= len(part)
        if left < 0:
            raise _too_much(most)
        if not member.eof:
            raise InflateError("gzip: ends early")
        parts.append(part)
        content = member.unused_data
    return b"".join(parts)


def _snappy(content: bytes, most: int) -> bytes:
    if not content.startswith(XERIAL_MAGIC):
        return _snappy_block(content, most, most)
    position, parts, left = XERIAL_HEADER_BYTES, [], most
    while position < len(content):
        size = int.from_bytes(content[position : position + 4], "big")
        position += 4
        if position + size > len(content):
            raise InflateError("snappy: ends early")
        parts.append(_snappy_block(content[position : position + size], most, left))
        left -= len(parts[-1])
        position += size
    return b"".join(parts)


def _snappy_block(block: bytes, most: int, left: int) -> bytes:
    from cramjam import DecompressionError, snappy

    try:
        if snappy.decompress_raw_len(block) > left:
            raise _too_much(most)
        return bytes(snappy.decompress_raw(block))
    except DecompressionError as error:
        raise InflateError(f"snappy: {error}") from None


def _lz4(content: bytes, most: int) -> Inflated:
    from cramjam import lz4

    return _by_cramjam(lz4, content, most)


def _zstd(content: bytes, most: int) -> Inflated:
    from cramjam import zstd

    return _by_cramjam(zstd, content, most)


def _by_cramjam(module: ModuleType, content: bytes, most: int) -> Inflated:
    """Inflates into a buffer that is enlarged until it fits."""
    from cramjam import DecompressionError

    size = min(most, max(1 << 16, FIRST_GUESS * len(content)))
    while True:
        output = bytearray(size)
        try:
            return memoryview(output)[: module.decompress_into(content, output)]
        except DecompressionError as error:
            if "whole buffer" not in str(error):
                raise InflateError(f"{module.__name__}: {error}") from None
        if size == most:
            raise _too_much(most)
        size = min(most, size * GROWTH)


def _too_much(most: int) -> InflateError:
    return InflateError(f"inflates to more than {most} bytes")


_INFLATERS: dict[Codec, Callable[[bytes, int], Inflated]] = {
    Codec.gzip: _gzip,
    Codec.snappy: _snappy,
    Codec.lz4: _lz4,
    Codec.zstd: _zstd,
}


def _with_right_header_checksum(frame: bytes) -> bytes:
    """The LZ4 frame with the header checksum that the format requires, whichever it had."""
    if len(frame) < 7:
        return frame
    end = 6 + 8 * bool(frame[4] & 0x08)  # a content size may follow flags and block descriptor
    checksum = (xxh32_of_few(frame[4:end]) >> 8) & 0xFF
    return frame[:end] + bytes([checksum]) + frame[end + 1 :]


def xxh32_of_few(content: bytes) -> int:
    """XXH32, seed 0, of less than 16 bytes: enough for the header of a frame."""
    prime1, prime2, prime3, prime4, prime5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
    value = prime5 + len(content)
    whole = len(content) // 4 * 4
    for (word,) in struct.iter_unpack("<I", content[:whole]):
        value = _rotated((value + word * prime3) & MASK, 17) * prime4 & MASK
    for byte in content[whole:]:
        value = _rotated((value + byte * prime5) & MASK, 11) * prime1 & MASK
    value = (value ^ value >> 15) * prime2 & MASK
    value = (value ^ value >> 13) * prime3 & MASK
    return value ^ value >> 16


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & MASK
