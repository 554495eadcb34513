"""Writes numbers of variable length as Kafka does, seven bits a byte, the lowest first: ByteUtils."""

from __future__ import annotations


def unsigned(number: int) -> bytes:
    """ByteUtils.writeUnsignedVarint, of any length."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


def varint(number: int) -> bytes:
    """ByteUtils.writeVarint and writeVarlong: the sign goes to the lowest bit."""
    return unsigned((number << 1) ^ (number >> 63))
