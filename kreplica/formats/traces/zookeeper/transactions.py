"""`version-2/log.ZXID` of ZooKeeper: every transaction since that zxid, in order.

    header   | "ZKLG" | version int32 = 2 | database id int64 |
    entry    | Adler-32 int64 | length int32 | transaction | 0x42 |
    transaction
             | session int64 | cxid int32 | zxid int64 | time int64 | type int32 | record, by type | digest since 3.6 |
    create   | path | data | ACLs: count int32, each perms int32, scheme, id | ephemeral byte | child version int32 |
    set      | path | data | version int32 |          delete  | path |
    multi    | count int32, each: type int32, record as bytes |

Strings and data are their length as int32, -1 for null, and their bytes. Files are filled up with zeros.
ZooKeeper: org.apache.zookeeper.server.persistence.FileTxnLog, org.apache.zookeeper.txn, 3.4 to 3.9.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from kreplica.formats.damage import Damage

MAGIC: Final = b"ZKLG"
_HEADER = struct.Struct(">4siq")
_ENTRY = struct.Struct(">qi")
_TRANSACTION = struct.Struct(">qiqqi")
_END_OF_ENTRY = 0x42
_CREATES, _DELETES, _SET, _MULTI, _CLOSE_SESSION = (1, 15, 19, 21), (2, 20), 5, 14, -11
"""ZooDefs.OpCode: create, create2, createContainer, createTTL; delete, deleteContainer."""


class WriteKind(StrEnum):
    """Kinds of writes of one znode."""

    create = "create"
    delete = "delete"
    set = "set"


class ZnodeWrite(NamedTuple):
    """A write of one znode.

    Args:
        kind: Which.
        path: The znode.
        data: What was written; empty for a deletion.
        version: The znode's version after it; 0 of a new one, -1 of a deletion.
        ephemeral: Whether it goes with its session.
    """

    kind: WriteKind
    path: str
    data: bytes = b""
    version: int = -1
    ephemeral: bool = False


class Transaction(NamedTuple):
    """One transaction.

    Args:
        zxid: Its number: the leader's epoch in the upper half, a counter in the lower.
        timestamp: ms since the epoch.
        session: Session of the client.
        writes: What it wrote; none for sessions and failed requests.
        ends_session: Whether it ends the session, and with it its ephemeral znodes.
    """

    zxid: int
    timestamp: int
    session: int
    writes: tuple[ZnodeWrite, ...]
    ends_session: bool


class _Reader:
    """Fields of one record.

    Raises:
        struct.error, ValueError: The record is shorter than its fields say.
    """

    def __init__(self, content: bytes, place: int = 0) -> None:
        self.content, self.place = content, place

    def integer(self, form: str = ">i") -> int:
        (number,) = struct.unpack_from(form, self.content, self.place)
        self.place += struct.calcsize(form)
        return int(number)

    def data(self) -> bytes:
        length = max(self.integer(), 0)
        end = self.place + length
        if end > len(self.content):
            raise ValueError("bytes are missing")
        found = self.content[self.place : end]
        self.place = end
        return found

    def text(self) -> str:
        return self.data().decode("utf-8", "replace")


def decode_transactions(content: bytes, file: str, damage: list[Damage]) -> Iterator[Transaction]:
    """The transactions of a log, in order, up to its end or the first damage.

    Args:
        content: The file.
        file: Its name, for messages.
        damage: Takes what cannot be decoded.
    """
    if len(content) < _HEADER.size or content[:4] != MAGIC:
        damage.append(Damage(file, 0, "no transaction log of ZooKeeper", len(content), "ZKLG", repr(content[:4])))
        return
    place = _HEADER.size
    while place + _ENTRY.size <= len(content):
        checksum, length = _ENTRY.unpack_from(content, place)
        if length == 0:
            return  # filled up
        begin = place + _ENTRY.size
        entry = content[begin : begin + length] if length > 0 else b""
        whole = len(entry) == length and content[begin + length : begin + length + 1] == bytes([_END_OF_ENTRY])
        if not whole or zlib.adler32(entry) != checksum:
            reason = "checksum does not fit" if whole else "an entry that does not end"
            damage.append(Damage(file, place, reason, len(content) - place))
            return
        try:
            yield _transaction(entry)
        except (struct.error, ValueError) as fault:
            damage.append(Damage(file, place, f"a transaction that cannot be read: {fault}", length))
        place = begin + length + 1


def _transaction(entry: bytes) -> Transaction:
    session, _, zxid, timestamp, kind = _TRANSACTION.unpack_from(entry, 0)
    writes = tuple(_writes(kind, _Reader(entry, _TRANSACTION.size)))
    return Transaction(zxid, timestamp, session, writes, kind == _CLOSE_SESSION)


def _writes(kind: int, reader: _Reader) -> Iterator[ZnodeWrite]:
    if kind in _CREATES:
        path, data = reader.text(), reader.data()
        for _ in range(min(max(reader.integer(), 0), len(reader.content))):
            reader.integer()
            reader.data()
            reader.data()
        yield ZnodeWrite(WriteKind.create, path, data, 0, reader.integer(">b") != 0)
    elif kind in _DELETES:
        yield ZnodeWrite(WriteKind.delete, reader.text())
    elif kind == _SET:
        path, data = reader.text(), reader.data()
        yield ZnodeWrite(WriteKind.set, path, data, reader.integer())
    elif kind == _MULTI:
        for _ in range(min(max(reader.integer(), 0), len(reader.content))):
            part = reader.integer()
            yield from _writes(part, _Reader(reader.data()))
