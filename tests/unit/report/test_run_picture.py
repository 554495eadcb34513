"""The picture of a run: nothing on top of each other, a size that can be read, and a loss that nobody overlooks."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from kreplica.engine.trace import sentence
from kreplica.report.heading import Heading
from kreplica.report.loss_marks import loss_marks
from kreplica.report.svg.run import run_picture
from kreplica.scenarios import scenario_named
from kreplica.scenarios.playing import Run, play
from tests.support.answers.pictures import SVG, boxes, meeting, unreadable


def drawn(run: Run, first: int = 0, last: int | None = None) -> ET.Element:
    told = run.outcome.histories
    heading = Heading(run.scenario.name, "LOST: a record, although it was acknowledged", "bad", run.scenario.why)
    return ET.fromstring(run_picture(heading, run.events, None, told.lost, told.duplicated, first, last))


def words(root: ET.Element, style: str) -> list[str]:
    return [one.text or "" for one in root.iter(f"{SVG}text") if one.get("class") == style]


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("hw-truncation-loss", "0.10"),
        ("m1-m2-m3", None),
        ("seven-partitions", None),
        ("zombie-transaction", None),
        ("isr-propagation", "0.9"),
        ("elr-overrun", None),
        ("hw-truncation-loss", "4.1"),
    ],
)
def test_it_can_be_read(name: str, version: str | None) -> None:
    assert unreadable(drawn(play(scenario_named(name), version))) == []


@pytest.mark.parametrize(
    "name",
    [
        "controller-failover-mid-isr",
        "zombie-transaction",
        pytest.param("lag-max-messages", marks=pytest.mark.one_python),
    ],
)
def test_logs_stay_within_their_frames(name: str) -> None:
    """Every cell of a frame, and every label behind it, lies in one frame: also where its words take two lines."""
    root = drawn(play(scenario_named(name)))
    rects = [one for one in root.iter(f"{SVG}rect") if (one.get("class") or "").startswith("frame")]
    frames = [[float(one.attrib[name]) for name in ("x", "y", "width", "height")] for one in rects]
    offsets = [box for box in boxes(root) if box.text.startswith("LEO ")]
    assert offsets
    for box in offsets:
        assert any(
            x <= box.left and box.right <= x + width and y <= box.top and box.bottom + 6 <= y + height
            for x, y, width, height in frames
        ), box


def test_markers_are_named() -> None:
    root = drawn(play(scenario_named("coordinator-failover-prepare")))
    assert any("(WriteTxnMarkers): commit: LEO 2" in text for text in words(root, "step"))


def test_who_looks_finds_words_that_meet() -> None:
    """The two texts of this picture stand on each other; those of the other two do not."""
    style = "<style>text{font:12px sans-serif}.end{text-anchor:end}</style>"
    pairs = {
        '<text x="0" y="20">one word</text><text x="30" y="24">another</text>': 1,
        '<text x="0" y="20">one word</text><text x="90" y="24">another</text>': 0,
        '<text x="0" y="20">one word</text><text class="end" x="90" y="24">another</text>': 1,
        '<text x="0" y="20">one word</text><text x="0" y="34">another</text>': 0,
    }
    for pair, many in pairs.items():
        root = ET.fromstring(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 99 99">{style}{pair}</svg>')
        assert len(meeting(boxes(root))) == many, pair


def test_a_lost_record_is_marked_where_it_is_cut_and_where_it_is_lost() -> None:
    """KIP-101, scenario 1: broker 2 cuts m2 at its high watermark, leads without it, and broker 3 cuts it too."""
    run = play(scenario_named("hw-truncation-loss"), "0.10")
    marks = loss_marks(run.events, run.outcome.histories.lost)
    assert [(mark.text, sentence(run.events[mark.number])) for mark in marks] == [
        ("m2 gone from broker-2", "broker-2 cuts orders-0 from 2 to 1"),
        ("LOST HERE: m2, no leader has it from now on", "broker-2 leads orders-0 in epoch 1 from offset 1, ISR 2"),
        ("m2 gone from broker-3", "broker-3 cuts orders-0 from 2 to 1"),
    ]
    root = drawn(run)
    assert words(root, "bad") == ["LOST: a record, although it was acknowledged"]
    assert words(root, "fault").count("✗ LOST HERE: m2, no leader has it from now on") == 2  # frame and diagram
    assert len([one for one in root.iter(f"{SVG}rect") if one.get("class") == "frame loss"]) == 1
    assert words(root, "cell cut") == ["m2", "m2"]


def test_frames_show_logs_with_their_offsets() -> None:
    """The logs of the step table of the same run: frame by frame LEO and HW as KIP-101 tells them."""
    root = drawn(play(scenario_named("hw-truncation-loss"), "0.10"))
    steps = [text for text in words(root, "step") if text[0].isdigit()]
    cut = next(number for number, text in enumerate(steps) if "truncated 2 to 1" in text)
    offsets = words(root, "offsets")
    assert offsets[2 * cut : 2 * cut + 2] == ["LEO 1  HW 1", "LEO 2  HW 2  remote LEO 2:2"]
    assert offsets[-2:] == ["LEO 1  HW 1", "LEO 1  HW 1"]


def test_the_logs_are_framed_of_what_is_asked_or_changed_most() -> None:
    run = play(scenario_named("hw-truncation-loss"), "4.1")
    assert "Logs of orders-0 after the steps that matter" in words(drawn(run), "section")
    assert words(drawn(run), "offsets"), "a run that loses nothing has frames, too"
    several = play(scenario_named("seven-partitions"))
    asked = ET.fromstring(run_picture(Heading("x"), several.events, "orders-3"))
    assert "Logs of orders-3 after the steps that matter" in words(asked, "section")


def test_a_record_that_no_log_ever_had_is_marked_where_it_was_acknowledged() -> None:
    run = play(scenario_named("acks0-blackhole"))
    marks = [mark for mark in loss_marks(run.events, run.outcome.histories.lost[:1]) if mark.loss]
    assert [sentence(run.events[mark.number]) for mark in marks] == [
        "producer is told that m40 stands at offset -1 of t-0"
    ]


def test_a_record_that_is_there_twice_is_marked_where_it_is_appended_again() -> None:
    run = play(scenario_named("retry-duplicate"))
    (mark,) = loss_marks(run.events, (), run.outcome.histories.duplicated)
    assert (mark.text, mark.loss) == ("TWICE: m1 is appended again", False)
    assert "log end offset 2" in sentence(run.events[mark.number])


def test_a_long_run_is_folded_and_says_so() -> None:
    root = drawn(play(scenario_named("caught-up-holds-hw")))
    left_out = [int(text.split()[1]) for text in words(root, "fold")]
    (title,) = [text for text in words(root, "section") if text.startswith("Messages")]
    assert f"{sum(left_out)} moments are left out" in title
    assert sum(left_out) > 1000


def test_a_part_of_the_time_is_drawn() -> None:
    root = drawn(play(scenario_named("hw-truncation-loss"), "0.10"), 14_500_000, 14_504_500)
    times = {text.split()[0] for text in words(root, "time")}
    assert times == {"14500.000", "14503.000", "14504.500"}
    steps = [text for text in words(root, "step") if text[0].isdigit()]
    assert [text.split()[1] for text in steps] == ["14500.000", "14504.500"]
