"""Kafka's state znodes in the transaction logs of a real ZooKeeper: each version explained, altered ones refused."""

from __future__ import annotations

import gzip
import re
import struct
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[4] / "support"))
from examples import examples
from log_files.kafka_dumps import GOLDEN

from kreplica.formats.damage import Damage
from kreplica.formats.traces.kraft.rows import TraceChange
from kreplica.formats.traces.zookeeper.trace import ZooKeeperWalk
from kreplica.formats.traces.zookeeper.transactions import MAGIC, Transaction, WriteKind, decode_transactions

LOGS = sorted(
    (GOLDEN / "kafka-3.9.2" / "zookeeper-txlog").glob("log.*.gz"), key=lambda file: int(file.name.split(".")[1], 16)
)
CONTENTS = [gzip.decompress(file.read_bytes()) for file in LOGS]


@dataclass(frozen=True)
class Judged:
    walk: ZooKeeperWalk

    @property
    def refused(self) -> list[TraceChange]:
        return [row for row in self.walk.rows if row.refused is not None]


def judged(transactions: Sequence[Transaction]) -> Judged:
    walk = ZooKeeperWalk()
    for one in transactions:
        walk.take(one)
    return Judged(walk)


@pytest.fixture(scope="module")
def real() -> list[Transaction]:
    damage: list[Damage] = []
    found = [one for content in CONTENTS for one in decode_transactions(content, "log", damage)]
    assert not damage
    return found


def test_every_version_of_every_state_is_explained(real: list[Transaction]) -> None:
    """As many as the path of a state znode stands in the bytes of the logs."""
    found = judged(real)
    written = sum(len(re.findall(rb"/partitions/\d+/state", content)) for content in CONTENTS)
    assert found.refused == []
    assert sum(found.walk.counts.values()) == written == 729
    assert found.walk.cluster_id == "cBMf6SHmQsyCTHxhqk8gNg"


def states(real: list[Transaction]) -> list[int]:
    return [
        number
        for number, one in enumerate(real)
        if any(write.kind is WriteKind.set and write.path.endswith("/state") for write in one.writes)
    ]


def with_data(one: Transaction, old: bytes, new: bytes) -> Transaction:
    writes = [
        write._replace(data=re.sub(old, new, write.data)) if write.path.endswith("/state") else write
        for write in one.writes
    ]
    return one._replace(writes=tuple(writes))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (rb'"leader":-?\d+', b'"leader":7'),
        (rb'"leader_epoch":(\d+)', rb'"leader_epoch":9\1'),
        (rb'"controller_epoch":(\d+)', rb'"controller_epoch":9\1'),
        (rb'"isr":\[', b'"isr":[9,'),
        (rb'"isr":\[[^]]*', b'"isr":['),
    ],
    ids=["leader", "leader epoch", "controller epoch", "a stranger in sync", "nobody in sync"],
)
def test_an_altered_state_is_refused(real: list[Transaction], old: bytes, new: bytes) -> None:
    for number in Random(1).sample(states(real), 6):
        altered = [*real[:number], with_data(real[number], old, new), *real[number + 1 :]]
        assert judged(altered).refused[0].offset == real[number].zxid


def test_a_dropped_transaction_is_refused(real: list[Transaction]) -> None:
    """By the zxid after it; where these are closed up, too, by the version of the znode when it is written again."""
    for number in Random(2).sample(states(real), 6):
        (fault, *_) = judged([*real[:number], *real[number + 1 :]]).refused
        assert "transactions are missing" in str(fault.refused)
        closed = [one._replace(zxid=one.zxid - 1) for one in real[number + 1 :]]
        path = next(write.path for write in real[number].writes if write.path.endswith("/state"))
        again = any(write.path == path and write.kind is WriteKind.set for one in closed for write in one.writes)
        assert bool(judged([*real[:number], *closed]).refused) == again


def test_a_leader_epoch_that_rises_alone_is_refused_unless_the_assignment_is_written_next() -> None:
    """Four moves to the replicas that are there, of a real controller; each without that write is refused."""
    content = gzip.decompress((GOLDEN / "kafka-3.9.2" / "random-faults" / "log.1.gz").read_bytes())
    found = list(decode_transactions(content, "log", []))
    assert judged(found).refused == []
    for zxid in (0xBC, 0xDC, 0xEC, 0x135):
        number = next(number for number, one in enumerate(found) if one.zxid == zxid) + 1
        assert re.fullmatch(r"/brokers/topics/[a-z]+", found[number].writes[0].path)
        (fault,) = judged([*found[:number], found[number]._replace(writes=()), *found[number + 1 :]]).refused
        assert fault.offset == zxid
        assert fault.refused == "its leader epoch rises alone, and its assignment is not written next"


def test_a_log_cut_anywhere_gives_what_is_whole() -> None:
    content = CONTENTS[0]
    whole = list(decode_transactions(content, "log", []))
    for end in range(0, 4000, 97):
        damage: list[Damage] = []
        found = list(decode_transactions(content[:end], "log", damage))
        assert found == whole[: len(found)]
        assert damage or end % 97 == 0


def test_a_byte_that_is_another_is_named() -> None:
    damage: list[Damage] = []
    content = bytearray(CONTENTS[0])
    content[100] ^= 1
    assert len(list(decode_transactions(bytes(content), "log", damage))) == 1
    assert [one.reason for one in damage] == ["checksum does not fit"]


@given(st.lists(st.binary(max_size=80), max_size=5))
@examples(1)
def test_entries_of_any_bytes_raise_nothing(entries: list[bytes]) -> None:
    """With checksums that fit, so that the records themselves are read."""
    content = struct.pack(">4siq", MAGIC, 2, 0)
    for entry in entries:
        content += struct.pack(">qi", zlib.adler32(entry), len(entry)) + entry + b"B"
    walk = ZooKeeperWalk()
    for one in decode_transactions(content, "log", []):
        walk.take(one)


@given(st.binary(max_size=200))
@examples(1)
def test_any_bytes_raise_nothing(content: bytes) -> None:
    list(decode_transactions(content, "log", []))
    list(decode_transactions(MAGIC + content, "log", []))
