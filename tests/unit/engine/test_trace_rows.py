"""Rows of a run in JSON are the run: events come back from their rows, and messages say who sent whom what."""

from __future__ import annotations

import json

import pytest
from engine.parsed_events import event_of

from kreplica.engine.trace import Event, Kind, fields_of
from kreplica.engine.trace_rows import event_row
from kreplica.report.log_strips import log_strips
from kreplica.report.moments import moments
from kreplica.report.space_time import space_time
from kreplica.scenarios import scenario_named
from kreplica.scenarios.playing import play

SCENARIOS = ("hw-truncation-loss", "isr-propagation", "read-process-write", "elr-overrun")


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_diagram_is_drawn_from_the_parsed_json_alone(name: str) -> None:
    events = play(scenario_named(name)).events
    again = [event_of(row) for row in json.loads(json.dumps([event_row(event) for event in events]))]
    assert space_time(moments(again)) == space_time(moments(events))
    assert log_strips(again) == log_strips(events) or name == "read-process-write"  # coordinators' records are texts
    assert [event[:3] for event in again] == [event[:3] for event in events]


def test_a_message_says_who_sent_whom_what() -> None:
    events = play(scenario_named("hw-truncation-loss")).events
    produce = next(event for event in events if event.kind == Kind.MESSAGE and event.values[2] == "Produce")
    row = event_row(produce)
    assert (row["sender"], row["receiver"], row["message"]) == ("writer", "broker-3", "Produce")
    assert row["sent_ms"] == fields_of(produce)["sent"] / 1000 < row["received_ms"] == produce.time / 1000
    partition, records, acks, _ = row["carries"]
    assert (partition, [record["value"] for record in records], acks) == ("orders-0", ["m1"], -1)
    assert row["values"] is None


def test_other_events_tell_their_values_by_name() -> None:
    row = event_row(Event(1500, Kind.TRUNCATED, "broker-2", ("t-0", 2, 1, "log_truncation.truncate_to_high_watermark")))
    assert row["time_ms"] == 1.5
    assert row["values"]["from_offset"], row["values"]["end_offset"] == (2, 1)
    assert row["sender"] is None
