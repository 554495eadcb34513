"""The space-time diagram, in text and as a picture: what is told is there, whole, and where it belongs."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from kreplica.engine.trace import Event, Kind, Record, Trace
from kreplica.report.log_strips import Piece, Strip
from kreplica.report.moments import Moment, down_after, moments
from kreplica.report.space_time import space_time
from kreplica.report.svg.space_time import space_time_svg

SVG = "{http://www.w3.org/2000/svg}"
ONE, TWO, WRITER = "broker-1", "broker-2", "writer"


def happened(time: int, node: str, kind: str, *values: object) -> Event:
    return Event(time, kind, node, values)


def crash_and_return() -> tuple[Moment, ...]:
    """Broker 1 gets a record, broker 2 goes and comes back."""
    trace = Trace()
    trace.emit(0, Kind.STARTED, TWO, ())
    trace.emit(1_000, Kind.SENT, WRITER, ("t-0", "m1", -1))
    trace.emit(1_500, Kind.MESSAGE, ONE, (WRITER, 1_000, "Produce", ""))
    trace.emit(1_500, Kind.APPENDED, ONE, ("t-0", 0, 1, (Record(0, "m1"),), "leader"))
    trace.emit(2_000, Kind.CRASHED, TWO, (False,))
    trace.emit(3_000, Kind.HIGH_WATERMARK, ONE, ("t-0", 1, "leader"))
    trace.emit(12_345_000, Kind.STARTED, TWO, ())
    trace.emit(12_346_000, Kind.FETCH_REFUSED, TWO, ("t-0", ONE, "NOT_LEADER_OR_FOLLOWER"))
    return moments(trace.events)


def test_a_process_that_is_down_has_no_lane() -> None:
    lines = space_time(crash_and_return())
    place = lines[0].index(TWO)
    assert [line[place] for line in lines[1:]] == ["|", "|", "*", " ", "*", "*"]


def test_nodes_are_down_from_the_crash_to_the_start() -> None:
    told = crash_and_return()
    down_from = {moment.time: down for moment, down in zip(told, down_after(told), strict=True)}
    assert down_from == {
        1_000: set(),
        1_500: set(),
        2_000: {TWO},
        3_000: {TWO},
        12_345_000: set(),
        12_346_000: set(),
    }


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_on_a_terminal_nothing_is_cut_off(width: int) -> None:
    lines = space_time(crash_and_return(), width)
    assert max(map(len, lines)) <= width
    words = " ".join("".join(lines).replace("|", " ").split())
    for part in ("writer: sends m1", "m1: LEO 1", "broker-2: crashed", "refused:", "NOT_LEADER_OR_FOLLOWER"):
        assert part in words


def test_names_of_narrow_lanes_keep_their_number() -> None:
    told = [Moment(0, f"consumer-{number}", None, (happened(0, "", Kind.CLIENT_FAILED, "x"),)) for number in range(12)]
    heads = space_time(told, 80)[0].split()[1:]
    assert len(set(heads)) == 12
    assert any(head.endswith("-11") for head in heads)


def test_of_many_records_the_first_and_the_last_are_named() -> None:
    sent = [happened(0, WRITER, Kind.SENT, "t-0", f"m{number}", -1) for number in range(5_000)]
    (line,) = space_time(moments(sent))[1:]
    assert line.endswith("writer: sends m0…m4999")
    (line,) = space_time(moments(sent[:2]))[1:]
    assert line.endswith("writer: sends m0, m1")


def test_failures_of_two_kinds_are_told_apart() -> None:
    failed = [
        happened(0, WRITER, Kind.SEND_FAILED, "t-0", name, error)
        for name, error in (("a", "X"), ("b", "X"), ("c", "Y"))
    ]
    assert space_time(moments(failed))[1].endswith("writer: a, b failed: X, c failed: Y")


def test_with_several_partitions_offsets_say_of_which() -> None:
    events = [
        happened(0, ONE, Kind.HIGH_WATERMARK, "t-0", 3, "leader"),
        happened(0, ONE, Kind.HIGH_WATERMARK, "t-1", 3, "leader"),
    ]
    assert space_time(moments(events))[1].endswith("broker-1: t-0 HW 3, t-1 HW 3")


def picture(told: tuple[Moment, ...], *strips: Strip) -> ET.Element:
    return ET.fromstring(space_time_svg("title", told, strips))


def texts(root: ET.Element, style: str | None = None) -> list[ET.Element]:
    return [one for one in root.iter(f"{SVG}text") if style is None or one.get("class") == style]


def test_the_picture_holds_every_word_of_it() -> None:
    """Letters of 12 px are rarely wider than 7 px; times end, and words begin, where they stand."""
    long = Event(1, Kind.CLIENT_FAILED, WRITER, ("reason " * 60,))
    root = picture((*crash_and_return(), Moment(20_000_000, WRITER, None, (long,))))
    width = int(root.attrib["viewBox"].split()[2])
    for time in texts(root, "time"):
        assert int(time.attrib["x"]) - 7 * len(time.text or "") >= 0
    words = [one for one in texts(root) if one.get("class") is None]
    assert all(int(one.attrib["x"]) + 7 * len(one.text or "") <= width for one in words)
    assert "".join(one.text or "" for one in words).count("reason") == 60


def test_rows_of_several_lines_keep_their_distance() -> None:
    long = Event(1, Kind.CLIENT_FAILED, WRITER, ("reason " * 60,))
    root = picture(tuple(Moment(time, WRITER, None, (long,)) for time in (1, 2)))
    heights = [int(one.attrib["y"]) for one in texts(root) if one.get("class") is None]
    assert all(next_one - one >= 15 for one, next_one in pairwise(heights))


def test_an_arrow_begins_where_its_message_was_sent() -> None:
    root = picture(crash_and_return())
    (arrow,) = [one for one in root.iter(f"{SVG}line") if one.get("class") == "arrow"]
    dots = list(root.iter(f"{SVG}circle"))
    assert (arrow.attrib["x1"], arrow.attrib["y1"]) == (dots[0].attrib["cx"], dots[0].attrib["cy"])
    assert (arrow.attrib["x2"], arrow.attrib["y2"]) == (dots[1].attrib["cx"], dots[1].attrib["cy"])


def test_lanes_have_gaps_where_processes_are_down() -> None:
    root = picture(crash_and_return())
    lanes = [one.attrib["x1"] for one in root.iter(f"{SVG}line") if one.get("class") == "lane"]
    assert sorted(lanes.count(x) for x in set(lanes)) == [1, 1, 2]


def test_strips_say_what_their_colours_mean_and_keep_long_values() -> None:
    pieces = (Piece(0, 0, 2, ("m1", "a-long-value-of-a-record")), Piece(7, 2, 3, ("m3",)))
    strip = Strip("broker-1", "__transaction_state-0", pieces, 2, True, True)
    root = picture(crash_and_return(), strip)
    told = [one.text for one in texts(root)]
    assert {"leader epoch 0", "leader epoch 7", "high watermark", "m1", "m3"} <= set(told)
    assert "a-long-value-of-a-record" in [one.text for one in root.iter(f"{SVG}title")]
    name = next(one for one in texts(root) if one.text == "broker-1 __transaction_state-0 (leader)")
    first = min(int(one.attrib["x"]) for one in root.iter(f"{SVG}rect") if one.get("width") == "62")
    assert int(name.attrib["x"]) + 7 * len(name.text or "") <= first


def marks(strip: Strip) -> list[int]:
    """How many cells stand before each mark, the one of the legend aside."""
    root = picture(crash_and_return(), strip)
    cells = [int(one.attrib["x"]) for one in root.iter(f"{SVG}rect") if one.get("width") == "62"]
    drawn = [int(one.attrib["x1"]) for one in root.iter(f"{SVG}line") if one.get("class") == "hw"][1:]
    return [sum(cell < mark for cell in cells) for mark in drawn]


@pytest.mark.parametrize(("high_watermark", "before"), [(0, [0]), (1, [1]), (2, [2]), (None, [])])
def test_the_mark_stands_at_the_high_watermark(high_watermark: int | None, before: list[int]) -> None:
    """A process that is down has none."""
    assert marks(Strip(ONE, "t-0", (Piece(0, 0, 2, ("m1", "m2")),), high_watermark, False, True)) == before


def test_a_long_run_is_parted_at_the_high_watermark() -> None:
    values = tuple(f"m{number}" for number in range(40))
    assert marks(Strip(ONE, "t-0", (Piece(0, 0, 40, values),), 30, False, True)) == [1]
