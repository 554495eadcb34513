"""A real metadata log with one record altered or dropped is refused, but for the kinds that cannot be told.

These are: an ISR that grew (the leader could have asked for less, or not yet) and a directory that a broker named,
where nothing later depends on it; and the record that a broker which has stopped is fenced, for it led nothing any
more and registers anew as fenced.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from suite.second_python import first_on_each

sys.path.insert(0, str(Path(__file__).parents[4] / "support"))
from log_files.altered_traces import ALTERATIONS, NOTHING, AlteredTrace, changes
from log_files.kafka_dumps import GOLDEN

from kreplica.engine.traces.trace_rule import TraceRule

LOG = GOLDEN / "kafka-4.3.1" / "killed-all" / "broker-1"
UNTOLD = {TraceRule.isr_expanded, TraceRule.directory_assigned}
"""Rules whose records may be missing, or have another ISR, without a later one that contradicts."""
A_KIND = 8


@pytest.fixture(scope="module")
def trace() -> AlteredTrace:
    return AlteredTrace(str(LOG))


def test_the_log_as_it_is_has_no_fault(trace: AlteredTrace) -> None:
    assert [row for row in trace.whole.rows if row.refused is not None] == []
    assert sum(trace.whole.counts.values()) == 1481


@pytest.mark.parametrize("name", first_on_each(ALTERATIONS))
def test_an_altered_change_is_refused(trace: AlteredTrace, name: str) -> None:
    random = Random(name)
    tried = 0
    while tried < A_KIND:
        number = random.choice(changes(trace.entries))
        entry = trace.entries[number]
        data = ALTERATIONS[name](dict(entry.record.data or {}), random)
        if data == entry.record.data:
            continue
        tried += 1
        fault = trace.first_fault(number, replace(entry.record, data=data))
        assert fault is not None or (name == "ISR" and rule_at(trace, entry.offset) in UNTOLD), (entry.offset, data)


@pytest.mark.parametrize("closed_up", [False, True], ids=["replaced by nothing", "closed up"])
def test_a_dropped_change_is_refused(trace: AlteredTrace, closed_up: bool) -> None:
    """Also where the records behind it move up, so that no offset is missing."""
    random = Random(closed_up)
    for number in random.sample(changes(trace.entries), A_KIND):
        fault = trace.first_fault(number, None if closed_up else NOTHING)
        offset = trace.entries[number].offset
        assert fault is not None or rule_at(trace, offset) in UNTOLD, offset


def test_a_broker_that_is_fenced_leaves_every_isr(trace: AlteredTrace) -> None:
    """One of the changes before its record is missing: the record names the partition that was left out."""
    number = next(at for at in changes(trace.entries) if rule_at(trace, trace.entries[at].offset) == "broker-fenced")
    change = trace.entries[number]
    fault = trace.first_fault(number, NOTHING)
    assert fault is not None
    assert fault.refused == "broker 3 leaves, and no record changes this partition"
    assert fault.partition == (change.record.data or {})["partitionId"]


def test_a_broker_epoch_is_the_offset_of_the_registration(trace: AlteredTrace) -> None:
    at = [number for number, entry in enumerate(trace.entries) if entry.record.type == "REGISTER_BROKER_RECORD"]
    for number in at:
        record = trace.entries[number].record
        data = {**(record.data or {}), "brokerEpoch": (record.data or {})["brokerEpoch"] + 1}
        fault = trace.first_fault(number, replace(record, data=data))
        assert fault is not None
        assert "expected, the offset it registers at" in str(fault.refused)


def rule_at(trace: AlteredTrace, offset: int) -> TraceRule | None:
    return next(row.rule for row in trace.whole.rows if row.offset == offset)
