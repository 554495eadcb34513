"""Metadata logs in a history: the runs of the definition, whichever parts of a log come, in any order."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from examples import examples
from histories.folders import StoppedError, StoppingStorage, candidate, contents, moment, newest_files, stored_runs
from histories.logs import KEYS, LED, Log, taken_in
from histories.observations import observed
from hypothesis import given
from hypothesis import strategies as st
from suite.second_python import first_on_each

from kreplica.history.ingest import ingest
from kreplica.history.model import Key, Observation, fold
from kreplica.history.months.log_steps import LogSlice, LogStep, StepKind, counting_steps
from kreplica.history.selection import choose
from kreplica.system.stores.storage import LocalStorage, Storage


@st.composite
def logs(draw: st.DrawFn) -> Log:
    states: list[dict[Key, int | None]] = [{}]
    for _ in range(draw(st.integers(0, 7))):
        now = dict(states[-1])
        for key in draw(st.sets(st.sampled_from(KEYS), max_size=2)):
            leader = draw(st.sampled_from([None, 1, 2, "gone"]))
            now.pop(key, None)
            if leader != "gone":
                now[key] = leader  # type: ignore[assignment]
        states.append(now)
    offsets = [0]
    for _ in states[1:]:
        offsets.append(offsets[-1] + draw(st.integers(1, 3)))
    return Log(states, offsets)


@st.composite
def reads(draw: st.DrawFn, log: Log) -> tuple[int, int]:
    begin = draw(st.integers(0, len(log.states) - 1))
    return begin, draw(st.integers(begin, len(log.states) - 1))


def stored_exact(root: Path) -> list[tuple[object, ...]]:
    """The runs of logs as they stand in Parquet."""
    rows = [
        row
        for path in newest_files(root).get("exact_partitions whole", [])
        for row in pq.ParquetFile(path).read().to_pylist()
    ]
    times = ("valid_from", "last_seen", "valid_to", "exact")
    return sorted(
        ((row["topic"], row["partition"]), str(row["leader"]), *(str(row[name]) for name in times)) for row in rows
    )


def defined_exact(log: Log, ranges: Sequence[tuple[int, int]]) -> list[tuple[object, ...]]:
    """By the definition: each step of any read is a whole observation of the state there, null a value like others."""
    steps = {step.place: (step, number) for begin, end in ranges for step, number in log.steps(begin, end)}
    kinds, some = {}, []
    for place in sorted(steps):
        step, number = steps[place]
        digest = "-".join(f"{part:05}" for part in place)
        kinds[digest] = step.kind
        rows = {key: {"leader": str(leader)} for key, leader in log.states[number].items()}
        some.append(Observation(step.taken_ms, digest, True, rows))
    found = []
    for run in fold(some):
        borders = [one and kinds[one.digest] for one in (run.first, run.ended)]
        times = [str(one and moment(one.taken_at)) for one in (run.first, run.last, run.ended)]
        found.append((run.key, run.values["leader"], *times, str(borders == [StepKind.record, StepKind.record])))
    return sorted(found)


@examples(0.4)
@given(st.data())
def test_any_parts_of_a_log_in_any_order_give_the_definition_and_the_same_bytes(data: st.DataObject) -> None:
    log = data.draw(logs())
    ranges = data.draw(st.lists(reads(log), max_size=4))
    slices = [log.slice(*one) for one in ranges]
    with tempfile.TemporaryDirectory() as folder:
        once, one_by_one = Path(folder, "once"), Path(folder, "one by one")
        taken_in(once, slices)
        for one in data.draw(st.permutations(slices)):
            taken_in(one_by_one, [one])
        assert stored_exact(once) == stored_exact(one_by_one) == defined_exact(log, ranges)
        assert taken_in(one_by_one, slices, compact=True).total("log_months") == 0
        assert contents(one_by_one) == contents(once)


def test_borders_that_are_records_are_exact() -> None:
    assert [(one[1], one[-1]) for one in defined_exact(LED, [(0, 3)])] == [("1", "True"), ("2", "True")]
    assert [(one[1], one[-1]) for one in defined_exact(LED, [(0, 1), (2, 3)])] == [("1", "False"), ("2", "False")]


def test_a_log_leaves_snapshots_as_they_are(tmp_path: Path) -> None:
    snapshots = [observed(hours, {KEYS[0]: {"leader": 1}}) for hours in (5, 6)]
    alone, both = tmp_path / "alone", tmp_path / "both"
    ingest([candidate(one) for one in snapshots], LocalStorage(alone))
    taken_in(both, [LED.slice(0, 3)])
    assert choose(LocalStorage(both)).months == ()
    ingest([candidate(one) for one in snapshots], LocalStorage(both))
    assert stored_runs(both) == stored_runs(alone)
    assert stored_exact(both) == defined_exact(LED, [(0, 3)])
    (month,) = choose(LocalStorage(both)).months
    assert len(month.seen) == 2


def one_by_one(storage: Storage, slices: Sequence[LogSlice], begun: list[LogSlice]) -> None:
    for one in slices:
        begun.append(one)
        taken_in(storage, [one])


@pytest.mark.parametrize("after", first_on_each([False, True]))
def test_a_stop_at_any_change_loses_and_doubles_nothing(tmp_path: Path, after: bool) -> None:
    slices = [LED.slice(1, 3), LED.slice(0, 2)]
    whole, counted = tmp_path / "whole", StoppingStorage(tmp_path / "counted")
    taken_in(whole, slices)
    for one in slices:
        taken_in(counted, [one])
    assert counted.changes > 4
    for fatal in range(counted.changes):
        root = tmp_path / str(fatal)
        begun: list[LogSlice] = []
        with pytest.raises(StoppedError):
            one_by_one(StoppingStorage(root, fatal, after=after), slices, begun)
        states = [defined_exact(LED, [(1, 3), (0, 2)][:number]) for number in range(3)]
        assert stored_exact(root) in (states[len(begun) - 1], states[len(begun)])
        taken_in(root, slices)
        assert contents(root) == contents(whole)


def test_what_a_later_leader_overwrote_does_not_count() -> None:
    def step(offset: int, epoch: int, kind: StepKind = StepKind.record, taken_ms: int = 0) -> LogStep:
        return LogStep(offset, kind, epoch, taken_ms)

    kept = [step(3, 1), step(5, 2), step(7, 2, StepKind.state)]
    assert counting_steps([step(9, 1), *reversed(kept), step(5, 1), step(7, 1, StepKind.read)]) == kept
    assert counting_steps([step(3, 1, taken_ms=5), step(3, 1, taken_ms=8)]) == [step(3, 1, taken_ms=8)]
