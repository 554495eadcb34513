"""The answer of kreplica decode offsets --against: what is told of offsets out of range, and how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from clusters.generated import partition, snapshot_of
from rich.console import Console

from commands.decode.offsets.against import Compared
from commands.decode.offsets.answer import OffsetsAnswer
from commands.decode.offsets.screen import show
from kreplica.formats.consumer_offsets.reading import decode_offsets
from kreplica.health.offset_range import offset_ranges
from kreplica.monitoring.clusters import Reading
from kreplica.monitoring.offsets import ComparedOffsets

BROKER = Path(__file__).parents[3] / "golden" / "kafka-4.3.1" / "clean" / "broker-1"
Range = tuple[int | None, int | None]


def compared(ranges: dict[int, Range]) -> OffsetsAnswer:
    """What billing committed (22, 72, 92, 66, 76 and 72 of orders-0 to 5) beside a cluster with these partitions."""
    rows = [partition("orders", n, log_start_offset=pair[0], end_offset=pair[1]) for n, pair in ranges.items()]
    snapshot = snapshot_of(rows)
    reading = decode_offsets([str(BROKER)], ["billing"])
    asked = ((row.topic, row.partition, row.offset) for row in reading.rows)
    found = ComparedOffsets(Reading([snapshot], [], []), list(offset_ranges(snapshot, asked)))
    return OffsetsAnswer(reading, Compared(found))


def screen(reading: OffsetsAnswer, capsys: pytest.CaptureFixture[str]) -> str:
    show(reading, Console(width=200))
    return capsys.readouterr().out


def test_offsets_out_of_range_are_findings() -> None:
    reading = compared({0: (0, 22), 1: (80, 90), 2: (0, 91), 3: (66, 66), 4: (None, None)})
    assert reading.exit_code() == 1
    answer = reading.answer()
    assert [row.standing for row in answer.rows] == [
        "in range",
        "below start",
        "above end",
        "in range",
        None,
        "no such partition",
    ]
    assert answer.summary["standings"] == {"in range": 2, "below start": 1, "above end": 1, "no such partition": 1}
    assert answer.names[-3:] == ("log_start_offset", "end_offset", "standing")
    assert answer.warnings == ["the cluster did not tell the range of 1 of 6 offsets"]
    assert [one["cluster_id"] for one in answer.clusters] == ["cluster-id"]


def test_the_screen_says_what_it_means_for_the_group(capsys: pytest.CaptureFixture[str]) -> None:
    text = screen(compared({0: (0, 22), 1: (80, 90), 2: (0, 91), 3: (66, 66), 4: (None, None)}), capsys)
    assert text.splitlines()[0].split()[-3:] == ["LOG_START", "LOG_END", "STANDING"]
    assert "below start" in text.splitlines()[2]
    told = "2 in range, 1 below start, 1 above end, 1 no such partition, 1 not known"
    assert f"OUT OF RANGE 6 offsets of 1 group: {told}; found where these groups live: partition 9 of 50\n" in text
    assert "auto.offset.reset" in text


def test_all_in_range_is_fine_and_nothing_known_is_incomplete(capsys: pytest.CaptureFixture[str]) -> None:
    fine = compared(dict.fromkeys(range(6), (0, 100)))
    assert fine.exit_code() == 0
    assert "OK 6 offsets of 1 group: 6 in range; " in screen(fine, capsys)
    silent = compared({**dict.fromkeys(range(5), (0, 100)), 5: (None, None)})
    assert silent.exit_code() == 5
    assert "INCOMPLETE 6 offsets of 1 group: 5 in range, 1 not known; " in screen(silent, capsys)
