"""Batches and records that a plain encoder wrote, whole, cut, flipped and mixed with rubbish."""

from __future__ import annotations

import random
import struct
import tracemalloc
import zlib
from collections.abc import Sequence
from contextlib import suppress

import cramjam
import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from log_files.record_batches import PlainRecord, batch_bytes, record_bytes
from log_files.varints import varint

from kreplica.formats.damage import Damage
from kreplica.formats.file_bytes import BufferBytes
from kreplica.formats.segments import codecs, record_runs, scan
from kreplica.formats.segments import records as records_module
from kreplica.formats.segments.codecs import InflateError, inflate, xxh32_of_few
from kreplica.formats.segments.numbers import read_signed, read_unsigned
from kreplica.formats.segments.records import decode_records
from kreplica.formats.segments.windows import BatchWindow, read_windows

BLOBS = st.none() | st.binary(max_size=200)
RECORDS = st.builds(
    PlainRecord,
    offset_delta=st.integers(0, 2**31 - 1),
    timestamp_delta=st.integers(-(2**62), 2**62),
    key=BLOBS,
    value=BLOBS,
    headers=st.lists(st.tuples(st.binary(max_size=20), BLOBS), max_size=3).map(tuple),
)
BATCHES = st.lists(st.lists(RECORDS, max_size=5), max_size=6)


def windows_of(content: bytes, window_bytes: int = 4096) -> list[BatchWindow]:
    return list(read_windows(BufferBytes(content, "a.log"), window_bytes))


def plain_records(windows: Sequence[BatchWindow]) -> tuple[list[tuple[int, PlainRecord]], list[Damage]]:
    """Position of the batch and content of each record that the decoder found, and what it says is damaged."""
    found, damage = [], [each for window in windows for each in window.damage]
    for window in windows:
        for some in decode_records(window):
            damage += some.damage
            base = window.batches.base_offset[some.batch]
            for index in range(len(some)):
                record = PlainRecord(
                    int(some.offset[index] - base[index]),
                    int(some.timestamp[index] - window.batches.base_timestamp[some.batch[index]]),
                    some.key(index),
                    some.value(index),
                    tuple(some.headers(index)),
                )
                found.append((int(window.batches.position[some.batch[index]]), record))
    return found, damage


def log_of(batches: Sequence[Sequence[PlainRecord]]) -> tuple[bytes, list[tuple[int, PlainRecord]]]:
    content, expected, base = b"", [], 0
    for records in batches:
        expected += [(len(content), record) for record in records]
        content += batch_bytes(records, base_offset=base)
        base += 2**31
    return content, expected


@given(BATCHES, st.integers(1, 600))
def test_what_was_written_is_read(batches: list[list[PlainRecord]], window_bytes: int) -> None:
    content, expected = log_of(batches)
    assert plain_records(windows_of(content, window_bytes)) == (expected, [])


@given(st.lists(st.integers(0, 60), min_size=1, max_size=80), st.integers(0, 2**32 - 1))
def test_wide_and_narrow_steps_read_the_same(counts: list[int], seed: int) -> None:
    chance = random.Random(seed)
    batches = [
        [
            PlainRecord(number, number, chance.randbytes(3), chance.randbytes(chance.randrange(150)))
            for number in range(n)
        ]
        for n in counts
    ]
    content, expected = log_of(batches)
    assert plain_records(windows_of(content, 1 << 20)) == (expected, [])


@examples(2)
@given(BATCHES.filter(any), st.data())
def test_a_flipped_byte_costs_its_batch_only(batches: list[list[PlainRecord]], data: st.DataObject) -> None:
    content, expected = log_of(batches)
    at = data.draw(st.integers(0, len(content) - 1))
    bit = data.draw(st.integers(0, 7))
    broken = bytearray(content)
    broken[at] ^= 1 << bit
    windows = windows_of(bytes(broken), data.draw(st.sampled_from([64, 300, 1 << 20])))
    found, damage = plain_records(windows)
    start = max(
        position
        for position in [0, *np.cumsum([len(batch_bytes(some)) for some in batches]).tolist()]
        if position <= at
    )
    assert [entry for entry in found if entry[0] != start] == [entry for entry in expected if entry[0] != start]
    if at - start >= 17 or 8 <= at - start < 12:  # offset and leader epoch are under no checksum
        assert damage
        assert all(entry[0] != start for entry in found)
        assert sum(each.skipped for each in damage) == len(batch_bytes(batches[_index(batches, start)]))


def _index(batches: list[list[PlainRecord]], start: int) -> int:
    position = 0
    for index, some in enumerate(batches):
        if position == start:
            return index
        position += len(batch_bytes(some))
    raise AssertionError(start)


@given(BATCHES.filter(bool), st.data())
def test_a_cut_file_gives_what_is_whole(batches: list[list[PlainRecord]], data: st.DataObject) -> None:
    content, expected = log_of(batches)
    length = data.draw(st.integers(0, len(content)))
    windows = windows_of(content[:length], data.draw(st.sampled_from([50, 1 << 20])))
    found, damage = plain_records(windows)
    ends = [0, *np.cumsum([len(batch_bytes(some)) for some in batches]).tolist()]
    whole = max(end for end in ends if end <= length)
    assert found == [entry for entry in expected if entry[0] < whole]
    zeros = sum(window.zero_bytes for window in windows)  # a cut header may be nothing but zeros
    assert sum(each.skipped for each in damage) + zeros == length - whole
    assert len(damage) + bool(zeros) == (length != whole)


@examples(3)
@given(st.binary(max_size=400), st.sampled_from([17, 100, 4096]))
def test_any_bytes_end_and_are_accounted_for(content: bytes, window_bytes: int) -> None:
    windows = windows_of(content, window_bytes)
    plain_records(windows)
    skipped = sum(each.skipped for window in windows for each in window.damage)
    sound = sum(int(window.batches.size[window.batches.valid].sum()) for window in windows)
    zeros = sum(window.zero_bytes for window in windows)
    assert skipped + sound + zeros == len(content)


@given(BATCHES.filter(bool), st.binary(min_size=1, max_size=300), st.data())
def test_rubbish_between_batches_is_stepped_over(
    batches: list[list[PlainRecord]], rubbish: bytes, data: st.DataObject
) -> None:
    parts = [batch_bytes(some, base_offset=number << 31) for number, some in enumerate(batches)]
    place = data.draw(st.integers(0, len(parts)))
    content = b"".join(parts[:place]) + rubbish + b"".join(parts[place:])
    found, damage = plain_records(windows_of(content, data.draw(st.sampled_from([64, 1 << 20]))))
    assert [record for _, record in found] == [record for some in batches for record in some]
    zeros = place == len(parts) and not any(rubbish)
    assert sum(each.skipped for each in damage) == (0 if zeros else len(rubbish))


def test_a_batch_whose_header_the_window_cuts_off_is_found() -> None:
    """The only sign of an empty batch is its header, of which the first window holds all but the last byte."""
    content = bytes(4) + b"".join(batch_bytes([], base_offset=number << 31) for number in range(12))
    (first, *_) = damage = [each for window in windows_of(content, 64) for each in window.damage]
    assert (len(damage), first.position, first.skipped) == (1, 0, 4)


def test_a_preallocated_tail_is_no_damage() -> None:
    content, expected = log_of([[PlainRecord(0, 0, b"k", b"v")]])
    windows = windows_of(content + bytes(10_000), 1000)
    assert plain_records(windows) == (expected, [])
    assert sum(window.zero_bytes for window in windows) == 10_000


def test_zeros_before_a_batch_are_damage() -> None:
    content, _ = log_of([[PlainRecord(0, 0, b"k", b"v")]])
    behind = batch_bytes([PlainRecord(0, 0, b"k", b"v")], base_offset=1)
    (damage,) = plain_records(windows_of(content + bytes(10_000) + behind, 1000))[1]
    assert (damage.position, damage.skipped) == (len(content), 10_000)
    where = f"a.log, byte {len(content)}"
    told = "zeros where a batch should begin, expected a batch, found zeros; 10000 bytes skipped"
    assert str(damage) == f"{where}: {told}"


def test_an_empty_batch_kept_for_its_producer() -> None:
    content = batch_bytes([], base_offset=7, producer=(9, 3, 5), last_offset_delta=4)
    (window,) = windows_of(content)
    batches = window.batches
    assert (batches.base_offset[0], batches.last_offset[0], batches.count[0]) == (7, 11, 0)
    assert (batches.producer_id[0], batches.producer_epoch[0], batches.base_sequence[0]) == (9, 3, 5)
    assert plain_records([window]) == ([], [])


def test_sequence_numbers_begin_anew() -> None:
    records = [PlainRecord(number, 0, None, b"v") for number in range(3)]
    (window,) = windows_of(batch_bytes(records, producer=(9, 3, 2**31 - 2)))
    (some,) = decode_records(window)
    assert some.sequence.tolist() == [2**31 - 2, 2**31 - 1, 0]


def test_the_time_of_the_append_stands_for_all_records() -> None:
    records = [PlainRecord(0, 5, None, b"v"), PlainRecord(1, 9, None, b"w")]
    (window,) = windows_of(batch_bytes(records, base_timestamp=100, attributes=8))
    (some,) = decode_records(window)
    assert some.timestamp.tolist() == [109, 109]


@pytest.mark.parametrize("count", [-1, 3, 2**31 - 1])
def test_a_count_that_lies(count: int) -> None:
    records = [PlainRecord(0, 0, b"k", b"v"), PlainRecord(1, 0, b"k", b"w")]
    found, damage = plain_records(windows_of(batch_bytes(records, count=count)))
    assert [record for _, record in found] == (records if count > 0 else [])
    assert [each.reason for each in damage] == ["records of this batch do not fill it"]


@pytest.mark.parametrize(("count", "last_offset_delta", "taken"), [(2, 1, True), (2, 5, True), (3, 1, False)])
def test_behind_damage_a_batch_has_no_more_records_than_offsets(
    count: int, last_offset_delta: int, taken: bool
) -> None:
    """Each record has an offset of its own; compaction leaves fewer (DefaultRecordBatch, LogValidator)."""
    records = [PlainRecord(0, 0, b"k", b"v"), PlainRecord(1, 0, b"k", b"w")]
    doubtful = batch_bytes(records, base_offset=10, count=count, last_offset_delta=last_offset_delta)
    whole = batch_bytes(records, base_offset=20)
    windows = windows_of(b"rubbish" * 9 + doubtful + whole)
    found = [offset for window in windows for offset in window.batches.base_offset.tolist()]
    assert found == ([10, 20] if taken else [20])
    skipped = sum(each.skipped for window in windows for each in window.damage)
    assert skipped == 63 + (0 if taken else len(doubtful))


def test_a_record_that_does_not_fill_its_length_is_left_out() -> None:
    good = [PlainRecord(0, 0, b"k", b"v"), PlainRecord(2, 0, b"k", b"w")]
    wrong = varint(8) + b"\0" + varint(0) + varint(1) + varint(50) + b"abcd"
    content = record_bytes(good[0]) + wrong + record_bytes(good[1])
    found, damage = plain_records(windows_of(batch_bytes(good, content=content, count=3)))
    assert [record for _, record in found] == good
    assert [each.reason for each in damage] == ["record 1 of this batch has fields that do not fill it"]


def test_headers_that_run_out_of_their_record() -> None:
    wrong = varint(9) + b"\0" + varint(0) + varint(0) + varint(-1) + varint(-1) + varint(1) + varint(40) + b"ab"
    found, damage = plain_records(windows_of(batch_bytes([], content=wrong, count=1)))
    assert (found, len(damage)) == ([], 1)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_codecs(codec: int) -> None:
    plain = b"".join(record_bytes(PlainRecord(number, 0, b"key", b"value" * 20)) for number in range(50))
    forms = {
        1: [
            zlib.compress(plain, wbits=31),
            zlib.compress(plain[:100], wbits=31) + zlib.compress(plain[100:], wbits=31),
        ],
        2: [bytes(cramjam.snappy.compress_raw(plain)), xerial(plain, 1000)],
        3: [bytes(cramjam.lz4.compress(plain))],
        4: [bytes(cramjam.zstd.compress(plain))],
    }
    for content in forms[codec]:
        assert bytes(inflate(codec, content)) == plain
        batch = batch_bytes([], content=content, count=50, attributes=codec, last_offset_delta=49)
        found, damage = plain_records(windows_of(batch))
        assert (len(found), damage) == (50, [])
        for broken in (content[:-3], content[:9], b"", content[:20] + b"\xff" + content[21:]):
            _never_worse_than_an_error(codec, broken)


def _never_worse_than_an_error(codec: int, content: bytes) -> None:
    with suppress(InflateError):
        inflate(codec, content)


def xerial(plain: bytes, block: int) -> bytes:
    blocks = [bytes(cramjam.snappy.compress_raw(plain[at : at + block])) for at in range(0, len(plain), block)]
    return b"\x82SNAPPY\0\0\0\0\1\0\0\0\1" + b"".join(len(each).to_bytes(4, "big") + each for each in blocks)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_bomb_is_refused_at_the_limit(codec: int) -> None:
    plain = bytes(8 << 20)
    bomb = {
        1: zlib.compress(plain, wbits=31),
        2: xerial(plain, 1 << 20),
        3: bytes(cramjam.lz4.compress(plain)),
        4: bytes(cramjam.zstd.compress(plain)),
    }[codec]
    assert len(bytes(inflate(codec, bomb, most=8 << 20))) == 8 << 20
    with pytest.raises(InflateError, match="inflates to more than 1048576 bytes"):
        inflate(codec, bomb, most=1 << 20)


def test_a_bomb_takes_no_memory_and_the_rest_is_read() -> None:
    bomb = zlib.compress(bytes(codecs.MOST_INFLATED_BYTES + 1), wbits=31)
    content = batch_bytes([], content=bomb, count=1, attributes=1)
    content += batch_bytes([PlainRecord(0, 0, b"k", b"v")], base_offset=1)
    tracemalloc.start()
    found, damage = plain_records(windows_of(content))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == 1
    assert [each.reason for each in damage] == [
        f"records cannot be inflated: inflates to more than {codecs.MOST_INFLATED_BYTES} bytes"
    ]
    assert peak < 3 * codecs.MOST_INFLATED_BYTES


def test_millions_of_records_in_a_batch_are_read_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The columns are those of one step, whatever the number of records that are looked for at once."""
    one = [PlainRecord(number, number, b"k" * (number % 3), None) for number in range(500)]
    content = batch_bytes(one) + batch_bytes(one[:3], base_offset=500) + batch_bytes(one, base_offset=503, count=900)
    content += batch_bytes(one[:7], base_offset=1403, count=5) + batch_bytes([], base_offset=1410)
    content += batch_bytes(one[:2], base_offset=1411, count=-1)
    expected = plain_records(windows_of(content))
    for few in (1, 2, 499, 500, 501, 503):
        monkeypatch.setattr(records_module, "STARTS_AT_ONCE", few)
        assert plain_records(windows_of(content)) == expected


def test_an_unknown_codec_is_told() -> None:
    found, damage = plain_records(windows_of(batch_bytes([], content=b"?", count=1, attributes=5)))
    assert (found, [each.reason for each in damage]) == ([], ["records cannot be inflated: unknown codec 5"])


@pytest.mark.parametrize("content_size", [False, True])
def test_lz4_of_magic_0_has_a_wrong_header_checksum(content_size: bool) -> None:
    """KAFKA-3160: it was made of the frame's magic, too. The frame is laid out by hand (LZ4 frame format 1.6)."""
    magic, plain = b"\x04\x22\x4d\x18", b"some records"
    descriptor = b"\x68\x40" + struct.pack("<Q", len(plain)) if content_size else b"\x60\x40"
    block = struct.pack("<I", len(plain) | 1 << 31) + plain  # its highest bit: not compressed
    right, wrong = (bytes([xxh32_of_few(covered) >> 8 & 0xFF]) for covered in (descriptor, magic + descriptor))
    assert right != wrong
    for checksum, versions in ((right, (0, 1, 2)), (wrong, (0,))):
        frame = magic + descriptor + checksum + block + bytes(4)
        assert [bytes(inflate(3, frame, magic=version)) for version in versions] == [plain] * len(versions)
    with pytest.raises(InflateError):
        inflate(3, magic + descriptor + wrong + block + bytes(4), magic=1)


def test_the_checksum_of_lz4_headers() -> None:
    """Values of the xxHash project's own sanity checks are of other seeds; these are of its xxhsum: empty, a, abc."""
    assert [xxh32_of_few(text) for text in (b"", b"a", b"abc")] == [0x02CC5D05, 0x550D7456, 0x32D153FF]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=50))
def test_varints(numbers: list[int]) -> None:
    encoded = [varint(number) for number in numbers]
    data = np.frombuffer(b"".join(encoded), np.uint8)
    ends = np.cumsum([len(each) for each in encoded])
    starts = ends - [len(each) for each in encoded]
    values, following = read_signed(data, starts, 10)
    assert values.tolist() == numbers
    assert following.tolist() == ends.tolist()


@pytest.mark.parametrize(
    ("encoded", "unsigned", "signed"),
    [
        # zigzag, seven bits a byte (ByteUtils.readVarint): the longest of one byte, the shortest of two
        (b"\x00", 0, 0),
        (b"\x7e", 126, 63),
        (b"\x7f", 127, -64),
        (b"\x80\x01", 128, 64),
        (b"\x81\x01", 129, -65),
        (b"\xff\x7f", 16383, -8192),
        (b"\x80\x80\x01", 16384, 8192),
    ],
)
def test_a_byte_holds_seven_bits_of_a_varint(encoded: bytes, unsigned: int, signed: int) -> None:
    for beside in (b"", b"\x02", b"\x80\x01"):  # alone, and read together with one of each length
        data = np.frombuffer(encoded + beside, np.uint8)
        starts = np.array([0, len(encoded)][: 1 + bool(beside)])
        values, following = read_signed(data, starts)
        assert (values[0], following[0]) == (signed, len(encoded))
        values, following = read_unsigned(data, starts)
        assert (values[0], following[0]) == (unsigned, len(encoded))


@pytest.mark.parametrize("size", [54, 55, 56, 57, 58, 8180, 8181, 8190])
def test_records_whose_length_takes_one_byte_or_two(size: int) -> None:
    records = [PlainRecord(number, 0, b"k", b"v" * size) for number in range(3)]
    found, damage = plain_records(windows_of(batch_bytes(records)))
    assert [record for _, record in found] == records
    assert damage == []


def test_a_varint_without_end_leads_nowhere() -> None:
    data = np.full(20, 0xFF, np.uint8)
    _, following = read_signed(data, np.array([0, 3]))
    assert (following < 0).all()


def test_work_on_damage_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of headers that look sound and are not: their checksums are not all computed."""
    header = bytearray(batch_bytes([PlainRecord(0, 0, b"k", b"v")]))
    header[17] ^= 1
    header[8:12] = (5000).to_bytes(4, "big")
    monkeypatch.setattr(scan, "TRIALS", 5)
    windows = windows_of(bytes(header) * 500, 1 << 20)
    assert sum(each.skipped for window in windows for each in window.damage) == 500 * len(header)


def test_narrow_is_not_the_only_way() -> None:
    """The tests above run both ways only while the border lies between their sizes."""
    assert 1 < record_runs.NARROW < 80
