"""The last stable offset, and what read_committed consumers get: against what is true of a whole generated log."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine.rules.replication.isolation import (
    AbortedTransaction,
    FetchedBatch,
    aborted_transactions,
    delivered_batches,
)
from kreplica.engine.rules.transactions.last_stable_offset import (
    first_unstable_offset,
    last_stable_offset,
    still_unreplicated,
    transaction_index_lso,
)
from kreplica.engine.rules.transactions.producer_state import NO_OFFSET

GOLDEN = Path(__file__).parents[4] / "golden" / "kafka-classes" / "stable-offsets.txt"
PRODUCERS = [1, 2, 3]
PLAIN = -1


@dataclass
class Log:
    """A log of one record a batch, with what is true of each record once everything is written."""

    batches: list[FetchedBatch] = field(default_factory=list)
    open: dict[int, int] = field(default_factory=dict)
    finished: list[tuple[int, int]] = field(default_factory=list)
    index: list[AbortedTransaction] = field(default_factory=list)
    outcome: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Of each data record: committed or aborted, and the marker's offset."""

    def write(self, producer: int, what: str) -> None:
        at = len(self.batches)
        if what == "data":
            self.batches.append(FetchedBatch(at, at, producer, transactional=producer != PLAIN))
            if producer == PLAIN:
                self.outcome[at] = ("committed", at)
            else:
                self.open.setdefault(producer, at)
        elif producer != PLAIN:
            self.end(producer, what, at)

    def end(self, producer: int, what: str, at: int) -> None:
        self.batches.append(FetchedBatch(at, at, producer, True, True, what == "aborted"))
        start = self.open.pop(producer, None)
        if start is None:
            return  # a marker without data
        for batch in self.batches[start:at]:
            if batch.producer_id == producer and not batch.control:
                self.outcome[batch.base_offset] = (what, at)
        self.finished.append((start, at))
        if what == "aborted":
            lso = transaction_index_lso(self.open.values(), at)
            self.index.append(AbortedTransaction(producer, start, at, lso))


@st.composite
def logs(draw: st.DrawFn) -> Log:
    log = Log()
    steps = st.tuples(st.sampled_from([*PRODUCERS, PLAIN]), st.sampled_from(["data", "data", "committed", "aborted"]))
    for producer, what in draw(st.lists(steps, min_size=6, max_size=25)):
        log.write(producer, what)
    return log


def first_undecided(log: Log, high_watermark: int) -> int:
    """The first record whose outcome is not known to everybody: no marker, or one that is not below the watermark."""
    data = [batch.base_offset for batch in log.batches if not batch.control and batch.producer_id != PLAIN]
    undecided = [at for at in data if at not in log.outcome or log.outcome[at][1] >= high_watermark]
    return min([*undecided, high_watermark])


@examples(3)
@given(logs(), st.data())
def test_the_last_stable_offset_is_the_first_undecided_record(log: Log, data: st.DataObject) -> None:
    high_watermark = data.draw(st.integers(0, len(log.batches)))
    waiting = still_unreplicated(log.finished, high_watermark)
    unstable = first_unstable_offset(log.open.values(), waiting)
    assert last_stable_offset(unstable, high_watermark) == first_undecided(log, high_watermark)


@examples(3)
@given(logs(), st.data())
def test_a_read_committed_consumer_gets_every_committed_record_and_no_other(log: Log, data: st.DataObject) -> None:
    end = len(log.batches)
    bound = first_undecided(log, end)
    start = data.draw(st.integers(0, bound))
    aborted = aborted_transactions(log.index, start, bound)
    got = [batch.base_offset for batch in delivered_batches(log.batches[start:bound], aborted)]
    committed = [at for at in range(start, bound) if log.outcome.get(at, ("", 0))[0] == "committed"]
    assert got == committed


@given(logs(), st.data())
def test_aborted_transactions_of_a_fetch_are_those_with_records_in_it(log: Log, data: st.DataObject) -> None:
    bound = first_undecided(log, len(log.batches))
    start = data.draw(st.integers(0, bound))
    named = set(aborted_transactions(log.index, start, bound))
    assert named == {one for one in log.index if one.last_offset >= start and one.first_offset < bound}


def test_a_log_cut_from_below_is_stable_from_its_start_on() -> None:
    assert last_stable_offset(3, 20, log_start=8) == 8
    assert last_stable_offset(3, 5, log_start=8) == 5


@pytest.mark.parametrize(
    ("fetch_offset", "upper_bound", "first", "end"),
    [(0, 100, 0, 4), (0, 32, 0, 3), (0, 35, 0, 4), (10, 35, 0, 4), (11, 35, 1, 4), (20, 41, 2, 4)],
)
def test_entries_that_a_read_has_to_know_of(fetch_offset: int, upper_bound: int, first: int, end: int) -> None:
    """TransactionIndexTest.testCollectAbortedTransactions."""
    numbers = ((0, 0, 10, 11), (1, 5, 15, 13), (2, 18, 35, 25), (3, 32, 50, 40))
    index = [AbortedTransaction(*one) for one in numbers]
    assert aborted_transactions(index, fetch_offset, upper_bound) == tuple(index[first:end])


def test_the_search_ends_where_an_entry_says_that_later_ones_begin_behind() -> None:
    """TransactionIndex.collectAbortedTxns: an entry whose last stable offset is the bound is the last one looked at."""
    index = [AbortedTransaction(*one) for one in ((0, 0, 19, 20), (1, 5, 30, 31))]
    assert aborted_transactions(index, 0, 20) == tuple(index[:1])
    assert aborted_transactions(index, 0, 21) == tuple(index)


def test_what_is_not_transactional_is_delivered_whoever_aborts() -> None:
    """CompletedFetch.isBatchAborted: a batch without the transactional bit belongs to no transaction."""
    aborted = [AbortedTransaction(7, 0, 3, 4)]
    batches = [FetchedBatch(0, 0, 7, True), FetchedBatch(1, 1, 7, False), FetchedBatch(2, 2, 7, True)]
    assert delivered_batches(batches, aborted) == (batches[1],)


def test_what_a_producer_writes_behind_its_abort_marker_is_delivered() -> None:
    """CompletedFetch.nextFetchedRecord: the marker takes the producer out of those whose batches are left out."""
    batches = [FetchedBatch(0, 0, 7, True), FetchedBatch(1, 1, 7, True, True, True), FetchedBatch(2, 2, 7, True)]
    assert delivered_batches(batches, [AbortedTransaction(7, 0, 1, 2)]) == (batches[2],)


def test_the_offset_that_the_index_keeps_with_an_aborted_transaction() -> None:
    """ProducerStateManager.lastStableOffset: the first open transaction of another producer, or behind the marker."""
    assert transaction_index_lso([], 7) == 8
    assert transaction_index_lso([5, 3], 7) == 3


def test_first_unstable_offsets_are_those_of_kafkas_producer_state_manager() -> None:
    """Histories that ProducerStateManager of 4.3.1 was led through; with each marker the LSO that the index gets."""
    histories = GOLDEN.read_text().splitlines()
    assert len(histories) > 100
    for history in histories:
        opened: dict[str, int] = {}
        unreplicated: tuple[tuple[int, int], ...] = ()
        end = 0
        for step in history.split():
            what, first_unstable, *index_lso = step.split(":")
            kind, producer = what[0], what[1:2]
            if kind == "h":
                unreplicated = still_unreplicated(unreplicated, int(what[1:]))
            elif kind == "d":
                opened.setdefault(producer, end)
                end += int(what.split("+")[1])
            else:
                start = opened.pop(producer, None)
                if start is not None:
                    assert [str(transaction_index_lso(opened.values(), end))] == index_lso, (history, step)
                    unreplicated += ((start, end),)
                end += 1
            expected = NO_OFFSET if first_unstable == "-" else int(first_unstable)
            assert first_unstable_offset(opened.values(), unreplicated) == expected, (history, step)
