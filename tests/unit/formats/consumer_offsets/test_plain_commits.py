"""The quick way through windows of plain commits: it comes to what every record, read one by one, comes to."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st
from log_files.record_batches import PlainRecord, batch_bytes, record_bytes

from kreplica.formats.consumer_offsets import fast_replay, latest
from kreplica.formats.consumer_offsets import fast_replay as plain_commits
from kreplica.formats.consumer_offsets import latest as latest_keys
from kreplica.formats.consumer_offsets.fast_replay import KnownKeys
from kreplica.formats.consumer_offsets.replay import OffsetReplay
from kreplica.formats.damage import Damage
from kreplica.formats.file_bytes import BufferBytes
from kreplica.formats.segments.as_of import AsOf
from kreplica.formats.segments.records import decode_records
from kreplica.formats.segments.windows import read_windows

Commits = dict[bytes, tuple[int, bytes | None]]
"""Record offset and value of the last record of each key."""


@dataclass(frozen=True)
class Outcome:
    """What a replay came to."""

    commits: Commits
    types: Counter[int]
    records: int
    damage: tuple[Damage, ...]
    quick: int


def replayed(content: bytes, window_bytes: int, *, quickly: bool) -> Outcome:
    replay, damage, records, quick = OffsetReplay(), [], 0, 0
    for window in read_windows(BufferBytes(content), window_bytes):
        damage += window.damage
        taken = replay.add_window(window) if quickly else Counter[int]()
        quick += taken.total()
        for some in [] if taken else decode_records(window):
            damage += some.damage
            records += len(some)
            replay.add(some)
    return Outcome(commits_of(replay), replay.types, records + quick, tuple(damage), quick)


def commits_of(replay: OffsetReplay) -> Commits:
    applied = replay.applied()
    assert (np.diff(applied.record_offset) >= 0).all()
    columns = (
        applied.keys(),
        applied.record_offset.tolist(),
        applied.value_start.tolist(),
        applied.value_length.tolist(),
    )
    return {
        key: (offset, None if length < 0 else applied.data[start : start + length].tobytes())
        for key, offset, start, length in zip(*columns, strict=True)
    }


def commit_key(group: str, topic: str, partition: int, kind: int = 1) -> bytes:
    texts = b"".join(struct.pack(">h", len(text)) + text.encode() for text in (group, topic))
    return struct.pack(">h", kind) + texts + struct.pack(">i", partition)


GROUPS = st.sampled_from(["g", "h", "group", "a group of a longer name", "g" * 61, "h" * 61])
KEYS = st.builds(commit_key, GROUPS, st.sampled_from(["t", "s", "topic"]), st.sampled_from([0, 1, 2, 255, 1 << 20]))
VALUES = st.one_of(st.none(), st.sampled_from([0, 1, 30, 63, 64, 70, 9000]).map(lambda size: bytes(range(10)) * size))
COMMITS = st.builds(PlainRecord, st.just(0), st.sampled_from([0, 1, 63, 64, -70, 8191]), KEYS, VALUES)
OTHERS = st.builds(
    PlainRecord,
    st.just(0),
    st.sampled_from([0, 8192, 1 << 40]),
    st.one_of(
        KEYS, st.sampled_from([b"\0\2\0\1g", b"\0\5x", b"\x7f\xff", b"\xff\xff", b"\0", b"", None, b"\0\1" * 150])
    ),
    VALUES,
    st.sampled_from([(), (), ((b"k", b"v"),)]),
)
GAPS = st.sampled_from([0, 0, 0, 1, 63, 8200])


@st.composite
def batches(draw: st.DrawFn, records: st.SearchStrategy[PlainRecord]) -> list[PlainRecord]:
    """Records with offset deltas that rise, a stretch of them repeated: what a coordinator writes together is alike."""
    some = draw(st.lists(records, min_size=1, max_size=6)) * draw(st.sampled_from([1, 1, 4, 20]))
    delta, found = -1, []
    for number, record in enumerate(some):
        delta += 1 + (draw(GAPS) if number < 6 else 0)
        found.append(replace(record, offset_delta=delta))
    return found


def log_of(content: Sequence[list[PlainRecord]], attributes: Sequence[int] = (0,)) -> bytes:
    base, parts = 0, []
    for number, records in enumerate(content):
        parts.append(batch_bytes(records, base_offset=base, attributes=attributes[number % len(attributes)]))
        base += records[-1].offset_delta + 1
    return b"".join(parts)


def one_by_one(content: Sequence[list[PlainRecord]]) -> Commits:
    base, found = 0, Commits()
    for records in content:
        for record in records:
            if record.key is not None and record.key[:2] in (b"\0\0", b"\0\1"):
                found[record.key] = (base + record.offset_delta, record.value)
        base += records[-1].offset_delta + 1
    return found


@examples(0.8)
@given(st.lists(batches(COMMITS), min_size=1, max_size=6), st.sampled_from([100, 2000, 1 << 22]), st.booleans())
def test_the_last_commit_of_each_key(content: list[list[PlainRecord]], window_bytes: int, small: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_commits, "RECORDS_AT_ONCE", 5 if small else 1 << 13)
        patch.setattr(plain_commits, "HELD_BYTES", 50 if small else 1 << 25)
        found = replayed(log_of(content), window_bytes, quickly=True)
    assert found.commits == one_by_one(content)
    deltas = [record.offset_delta for records in content for record in records]
    assert found.quick == found.records == len(deltas) or max(deltas) > 8191
    assert not found.damage


@examples(0.8)
@given(
    st.lists(batches(st.one_of(COMMITS, COMMITS, OTHERS)), min_size=1, max_size=6),
    st.lists(st.sampled_from([0, 0, 0, 8, 0x10, 1]), min_size=1, max_size=3),
    st.sampled_from([100, 2000, 1 << 22]),
    st.data(),
)
def test_it_comes_to_what_the_long_way_comes_to(
    content: list[list[PlainRecord]], attributes: list[int], window_bytes: int, data: st.DataObject
) -> None:
    log = bytearray(log_of(content, attributes))
    if data.draw(st.booleans(), "damaged"):
        log[data.draw(st.integers(0, len(log) - 1), "at")] ^= data.draw(st.integers(1, 255), "with")
    quick, slow = (replayed(bytes(log), window_bytes, quickly=quickly) for quickly in (True, False))
    assert quick == replace(slow, quick=quick.quick)


RECORD = PlainRecord(0, 0, commit_key("g", "t", 0), b"v")


@examples(0.8)
@given(st.lists(batches(COMMITS), min_size=1, max_size=2), st.integers(0, 200), st.integers(0, 255), st.integers(-2, 2))
@example(content=[[RECORD]], at=-1, byte=2, more=0)
@example(content=[[RECORD]], at=4, byte=25, more=0)
def test_records_that_are_wrong_under_a_right_checksum(
    content: list[list[PlainRecord]], at: int, byte: int, more: int
) -> None:
    written = bytearray(b"".join(map(record_bytes, content[0])))
    written[at % len(written)] = byte
    wrong = batch_bytes(content[0], content=bytes(written), count=max(0, len(content[0]) + more))
    log = wrong + batch_bytes([RECORD], base_offset=content[0][-1].offset_delta + 1)
    quick, slow = (replayed(log, 1 << 22, quickly=quickly) for quickly in (True, False))
    assert quick == replace(slow, quick=quick.quick)


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (latest_keys, "_multipliers", lambda count: np.zeros(count, np.uint64)),
        (fast_replay, "MOST_KNOWN", 3),
        (fast_replay, "WAYS", 1),
        (fast_replay, "SLOTS_A_KEY", 1000),
    ],
)
def test_keys_that_cannot_be_numbered_go_the_long_way(
    module: object, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, value)
    keys = [commit_key("g", "t", number % 7) for number in range(60)]
    content = [[PlainRecord(0, 0, key, str(number).encode())] for number, key in enumerate(keys)]
    assert replayed(log_of(content), 300, quickly=True).commits == one_by_one(content)


def test_other_records_are_counted_and_passed_over() -> None:
    keys = [b"\0\2\0\1g", RECORD.key, b"\0\5x", b"\0\2\0\1h"]
    found = replayed(log_of([[PlainRecord(0, 0, key, b"v")] for key in keys]), 1 << 20, quickly=True)
    assert (found.types, found.quick) == (Counter({2: 2, 1: 1, 5: 1}), 4)
    assert found.commits == {RECORD.key: (1, b"v")}


def test_only_a_replay_of_everything_is_quick() -> None:
    (window,) = read_windows(BufferBytes(log_of([[RECORD]])))
    taken = [OffsetReplay(as_of).add_window(window) for as_of in (None, AsOf(offset=9), AsOf(timestamp=9))]
    assert taken == [Counter({1: 1}), Counter(), Counter()]


def test_what_is_held_does_not_grow_with_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_commits, "HELD_BYTES", 300)
    replay, keys = OffsetReplay(), [commit_key("g", "t", number // 60 % 2) for number in range(6000)]
    held = []
    for window in read_windows(BufferBytes(log_of([[replace(RECORD, key=key)] for key in keys])), 4000):
        assert replay.add_window(window)
        held.append(replay._plain._held_bytes())
    assert 200 < max(held) < 400, "windows of one key leave what was said of the other"
    assert commits_of(replay) == {keys[-61]: (5939, b"v"), keys[-1]: (5999, b"v")}
    assert latest.HELD_BYTES > 300


@pytest.mark.parametrize("later", [50, 99, 100, 101])
def test_of_two_windows_the_higher_offset_counts(later: int) -> None:
    log = b"".join(
        batch_bytes([replace(RECORD, value=value)], base_offset=offset)
        for offset, value in ((100, b"a"), (later, b"b"))
    )
    expected = (later, b"b") if later >= 100 else (100, b"a")
    for quickly in (True, False):
        assert replayed(log, 100, quickly=quickly).commits == {RECORD.key: expected}


@given(st.lists(st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=30), max_size=8))
def test_a_key_keeps_its_number(rounds: list[list[bytes]]) -> None:
    known, expected = KnownKeys(), dict[bytes, int]()
    for keys in rounds:
        length = np.array([len(key) for key in keys])
        data = np.frombuffer(b"".join(keys) + bytes(64), np.uint8)
        words = latest_keys.key_words(data, np.cumsum(length) - length, length)
        assert words is not None
        numbers = known.numbers(words, length)
        assert numbers is not None
        for key, number in zip(keys, numbers.tolist(), strict=True):
            assert expected.setdefault(key, number) == number
    assert known.count == len(set(expected.values())) == len(expected)
