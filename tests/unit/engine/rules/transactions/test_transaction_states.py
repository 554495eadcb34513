"""A coordinator decides as Kafka's does: random walks beside its sources restated, and cases known from Kafka."""

from __future__ import annotations

from dataclasses import replace

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from plain.transactions import Coordinator, Metadata, said

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.end_transaction import (
    complete_transaction,
    end_transaction,
    end_transaction_version_2,
)
from kreplica.engine.rules.transactions.init_producer_id import fence_producer_epoch, init_producer_id
from kreplica.engine.rules.transactions.transaction_partitions import add_partitions, verify_partition
from kreplica.engine.rules.transactions.transaction_states import (
    IDLE,
    PREPARED,
    Decision,
    TransactionMetadata,
    TransactionState,
    may_follow,
    preparing,
    reloaded,
    write_failed,
)
from kreplica.engine.rules.transactions.transaction_timeouts import transaction_timed_out, transactional_id_expired

S = TransactionState
NAMES = {
    "Empty": S.EMPTY,
    "Ongoing": S.ONGOING,
    "PrepareCommit": S.PREPARE_COMMIT,
    "PrepareAbort": S.PREPARE_ABORT,
    "CompleteCommit": S.COMPLETE_COMMIT,
    "CompleteAbort": S.COMPLETE_ABORT,
    "PrepareEpochFence": S.PREPARE_EPOCH_FENCE,
}


class Ruled:
    """A coordinator for one transactional id that only holds what the rules say."""

    def __init__(self, version: int, single_rise: bool, fence_rotates: bool) -> None:
        self.version, self.single_rise, self.fence_rotates = version, single_rise, fence_rotates
        self.metadata: TransactionMetadata | None = None
        self.target: TransactionMetadata | None = None
        self.fencing = False
        self.fresh = 1000

    def decide(self, decision: Decision, fencing: bool = False) -> str:
        if decision.target is not None:
            assert self.metadata is not None
            self.fencing = fencing
            self.metadata = preparing(self.metadata, decision.target, self.single_rise)
            self.target = decision.target
        return decision.error.name

    def init_producer_id(self, expected: tuple[int, int] | None, timeout: int, now: int) -> str:
        if self.metadata is None:
            self.fresh += 1
            self.metadata = TransactionMetadata(self.fresh, timeout, last_update=now)
        decision = init_producer_id(self.metadata, expected, timeout, self.fresh + 1, now)
        if decision.target is not None and decision.target.state is S.PREPARE_EPOCH_FENCE:
            return self.abort(decision.target, now)
        if decision.target is not None and decision.target.producer_id == self.fresh + 1:
            self.fresh += 1
        return self.decide(decision)

    def abort(self, fence: TransactionMetadata, now: int) -> str:
        assert self.metadata is not None
        self.metadata = preparing(self.metadata, fence)
        return self.end(fence.producer_id, fence.producer_epoch, False, False, now)

    def add_partitions(self, producer_id: int, epoch: int, partitions: set[str], now: int) -> str:
        return self.decide(add_partitions(self.metadata, producer_id, epoch, partitions, now))

    def end(self, producer_id: int, epoch: int, commit: bool, client: bool, now: int) -> str:
        fencing = self.metadata is not None and self.metadata.pending is S.PREPARE_EPOCH_FENCE
        if self.version == 1:
            return self.decide(end_transaction(self.metadata, producer_id, epoch, commit, client, now), fencing)
        decision = end_transaction_version_2(
            self.metadata, producer_id, epoch, commit, client, self.fresh + 1, self.single_rise, self.fence_rotates, now
        )
        if decision.target is not None and decision.target.next_producer_id == self.fresh + 1:
            self.fresh += 1
        return self.decide(decision, fencing)

    def written(self) -> None:
        self.metadata, self.target = self.target, None

    def failed(self) -> None:
        assert self.metadata is not None
        self.metadata, self.target = write_failed(self.metadata, self.fencing), None

    def markers_written(self, now: int) -> None:
        assert self.metadata is not None
        self.metadata = complete_transaction(self.metadata, now)


def plain(metadata: Metadata | None) -> TransactionMetadata | None:
    """Kafka's fields as the rules have them; its version counts only from the end of a transaction on."""
    if metadata is None:
        return None
    return TransactionMetadata(
        metadata.producer_id,
        metadata.timeout,
        metadata.prev_producer_id,
        metadata.next_producer_id,
        metadata.epoch,
        metadata.last_epoch,
        NAMES[metadata.state],
        tuple(sorted(metadata.partitions)),
        metadata.start,
        metadata.update,
        0,
        None if metadata.pending is None else NAMES[metadata.pending],
        metadata.failed_fence,
    )


ASKED = st.one_of(
    st.tuples(st.just("init"), st.sampled_from([None, "current", "last", "stale", "other id"])),
    st.tuples(st.just("add"), st.sampled_from([0, 0, 0, -1, 1]), st.sets(st.sampled_from("ab"), min_size=1)),
    st.tuples(st.just("add"), st.just(0), st.sets(st.sampled_from("ab"), min_size=1)),
    st.tuples(st.just("end"), st.sampled_from([0, 0, -1, -1, 1]), st.booleans()),
    st.tuples(st.just("end"), st.just(0), st.booleans()),
    st.tuples(st.just("old id"), st.booleans()),
    st.tuples(st.just("timeout")),
    st.tuples(st.just("markers")),
)
STEPS = st.tuples(ASKED, st.sampled_from(["written", "written", "written", "failed", "later"]))
"""Requests, and the fate of the record to write: mostly it is written, else the next request meets a pending one."""


class Walk:
    """Both coordinators, side by side."""

    def __init__(self, version: int, single_rise: bool, fence_rotates: bool) -> None:
        self.kafka = Coordinator(version, single_rise=single_rise, fence_rotates=fence_rotates)
        self.ruled = Ruled(version, single_rise, fence_rotates)

    def begin_at(self, epoch: int) -> None:
        self.kafka.metadata = Metadata(7, 60, epoch=epoch, last_epoch=epoch - 1 if epoch >= 0 else -1)
        self.ruled.metadata = TransactionMetadata(
            7, 60, producer_epoch=epoch, last_producer_epoch=epoch - 1 if epoch >= 0 else -1
        )

    def step(self, step: tuple, now: int) -> tuple[str, str]:  # type: ignore[type-arg]
        txn = self.kafka.metadata
        assert txn is not None
        match step[0]:
            case "init":
                expected = {
                    None: None,
                    "current": (txn.producer_id, txn.epoch),
                    "last": (txn.producer_id, txn.last_epoch),
                    "stale": (txn.producer_id, txn.epoch - 2),
                    "other id": (txn.prev_producer_id, 32766),
                }[step[1]]
                kafka = said(lambda: self.kafka.init_producer_id(expected, 60, now))
                return kafka, self.ruled.init_producer_id(expected, 60, now)
            case "add" if txn.epoch + step[1] >= 0:  # no client has an epoch below 0
                epoch = txn.epoch + step[1]
                kafka = said(lambda: self.kafka.add_partitions(txn.producer_id, epoch, step[2], now))
                return kafka, self.ruled.add_partitions(txn.producer_id, epoch, step[2], now)
            case "end" if txn.epoch + step[1] >= 0:
                return self.end(txn.producer_id, txn.epoch + step[1], step[2], now)
            case "old id":
                return self.end(txn.prev_producer_id, 32766, step[1], now)
            case "timeout":
                self.timeout(txn, now)
            case "written" | "failed" if self.kafka.transit is not None:
                self.write(step[0] == "written")
            case "markers" if txn.state in ("PrepareCommit", "PrepareAbort") and txn.pending is None:
                self.kafka.markers_written(now)
                self.ruled.markers_written(now)
        return "", ""

    def end(self, producer_id: int, epoch: int, commit: bool, now: int) -> tuple[str, str]:
        version = self.kafka.version
        kafka = said(lambda: self.kafka.end(producer_id, epoch, version, commit=commit, client=True, now=now))
        return kafka, self.ruled.end(producer_id, epoch, commit, True, now)

    def timeout(self, txn: Metadata, now: int) -> None:
        assert self.ruled.metadata is not None
        if txn.state != "Ongoing" or txn.pending is not None:
            return
        fence = txn.fence()
        self.kafka.end(txn.producer_id, fence.epoch, self.kafka.version, commit=False, client=False, now=now)
        self.ruled.abort(fence_producer_epoch(self.ruled.metadata), now)

    def write(self, taken: bool) -> None:
        txn = self.kafka.metadata
        assert txn is not None
        if taken:
            self.kafka.written()
            self.ruled.written()
            return
        txn.pending, self.kafka.transit = None, None
        txn.failed_fence = txn.failed_fence or self.ruled.fencing
        self.ruled.failed()


@examples(3)
@given(
    st.sampled_from([(1, False, False), (2, False, False), (2, True, False), (2, True, True)]),
    st.sampled_from([-1, 0, 32764, 32765, 32766]),
    st.lists(STEPS, min_size=12, max_size=40),
)
def test_a_walk_beside_kafkas_coordinator(rules: tuple[int, bool, bool], epoch: int, steps: list[tuple]) -> None:  # type: ignore[type-arg]
    walk = Walk(*rules)
    walk.begin_at(epoch)
    for now, step in enumerate(one for asked, outcome in steps for one in (asked, (outcome,))):
        kafka, ruled = walk.step(step, now)
        assert ruled == kafka, step
        assert walk.ruled.metadata is not None
        assert replace(walk.ruled.metadata, client_version=0) == plain(walk.kafka.metadata), step
        assert walk.ruled.fresh == walk.kafka.fresh


def test_an_unknown_transactional_id_gets_an_id_and_epoch_0() -> None:
    walk = Walk(1, False, False)
    walk.kafka.init_producer_id(None, 60, 5)
    assert walk.ruled.init_producer_id(None, 60, 5) == "NONE"
    walk.write(True)
    assert walk.ruled.metadata == plain(walk.kafka.metadata)
    assert walk.ruled.metadata is not None
    assert (walk.ruled.metadata.producer_id, walk.ruled.metadata.producer_epoch) == (1001, 0)


ONGOING = TransactionMetadata(7, 60, producer_epoch=5, state=S.ONGOING, partitions=("a-0",), start=10, last_update=10)

# KIP-890's table, as it stands in TransactionCoordinator: PF, ITS, NONE, EB (the epoch rises)
TABLE = {
    (S.EMPTY, False): ("PF", "EB"),
    (S.EMPTY, True): ("PF", "ITS"),
    (S.COMPLETE_ABORT, False): ("NONE", "EB"),
    (S.COMPLETE_ABORT, True): ("ITS", "ITS"),
    (S.COMPLETE_COMMIT, False): ("ITS", "EB"),
    (S.COMPLETE_COMMIT, True): ("NONE", "ITS"),
}


@pytest.mark.parametrize(("state", "commit"), TABLE)
def test_the_table_of_kip_890(state: TransactionState, commit: bool) -> None:
    metadata = replace(ONGOING, state=state, partitions=())
    for epoch, expected in zip((4, 5), TABLE[state, commit], strict=True):
        decision = end_transaction_version_2(metadata, 7, epoch, commit, True, 99, True, True, 20)
        risen = decision.target is not None and decision.target.producer_epoch == 6
        short = {"PRODUCER_FENCED": "PF", "INVALID_TXN_STATE": "ITS", "NONE": "EB" if risen else "NONE"}
        assert short[decision.error.name] == expected


def test_a_delayed_end_hits_the_next_transaction_of_version_1_but_not_of_version_2() -> None:
    first = end_transaction(ONGOING, 7, 5, True, True, 20).target
    assert first is not None
    second = add_partitions(complete_transaction(first, 30), 7, 5, ["a-0"], 40).target
    late = end_transaction(second, 7, 5, False, True, 50)
    assert late.target is not None
    assert late.target.state is S.PREPARE_ABORT
    first = end_transaction_version_2(ONGOING, 7, 5, True, True, 99, True, True, 20).target
    assert first is not None
    second = add_partitions(complete_transaction(first, 30), 7, 6, ["a-0"], 40).target
    assert end_transaction_version_2(second, 7, 5, False, True, 99, True, True, 50).error is ErrorCode.PRODUCER_FENCED


def test_states_and_their_ids_are_kafkas() -> None:
    assert [(state.name, int(state)) for state in S] == [
        ("EMPTY", 0),
        ("ONGOING", 1),
        ("PREPARE_COMMIT", 2),
        ("PREPARE_ABORT", 3),
        ("COMPLETE_COMMIT", 4),
        ("COMPLETE_ABORT", 5),
        ("DEAD", 6),
        ("PREPARE_EPOCH_FENCE", 7),
    ]
    assert PREPARED == (S.PREPARE_COMMIT, S.PREPARE_ABORT)


@pytest.mark.parametrize("version", [1, 2])
def test_a_written_end_makes_up_for_a_fence_that_the_log_refused(version: int) -> None:
    """TransactionMetadata.prepareComplete: hasFailedEpochFence is unset, so that the next fence raises the epoch."""
    refused = replace(ONGOING, state=S.PREPARE_ABORT, client_version=version, failed_fence=True)
    done = complete_transaction(refused, 30)
    assert not done.failed_fence
    assert fence_producer_epoch(replace(done, state=S.ONGOING)).producer_epoch == done.producer_epoch + 1


@pytest.mark.parametrize(
    ("state", "pending", "producer_id", "error"),
    [
        (S.COMPLETE_COMMIT, None, 9, "NONE"),
        (S.COMPLETE_COMMIT, None, 12, "INVALID_PRODUCER_ID_MAPPING"),
        (S.ONGOING, S.PREPARE_EPOCH_FENCE, 9, "INVALID_PRODUCER_ID_MAPPING"),
    ],
)
def test_an_end_sent_again_by_the_id_before_at_its_last_epoch(
    state: TransactionState, pending: TransactionState | None, producer_id: int, error: str
) -> None:
    """TransactionCoordinator.endTransaction, retryOnOverflow: the id before, its last epoch, and no fence under way."""
    held = TransactionMetadata(10, 60, 9, producer_epoch=0, state=state, client_version=2, pending=pending)
    decision = end_transaction_version_2(held, producer_id, 32766, True, True, 99, True, True, 20)
    assert (decision.error.name, decision.target) == (error, None)


IDLE_STATES = {S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT}
PREVIOUS = {
    S.EMPTY: IDLE_STATES,
    S.ONGOING: {S.ONGOING, *IDLE_STATES},
    S.PREPARE_COMMIT: {S.ONGOING},
    S.PREPARE_ABORT: {S.ONGOING, S.PREPARE_EPOCH_FENCE},
    S.COMPLETE_COMMIT: {S.PREPARE_COMMIT},
    S.COMPLETE_ABORT: {S.PREPARE_ABORT},
    S.DEAD: IDLE_STATES,
    S.PREPARE_EPOCH_FENCE: {S.ONGOING},
}
"""TransactionState.validPreviousStates of 3.9; since 4.0 an idle one may go to PREPARE_ABORT, too."""


@pytest.mark.parametrize("following", S)
def test_which_state_may_follow_which(following: TransactionState) -> None:
    assert {state for state in S if may_follow(state, following, 1)} == PREVIOUS[following]
    since_4_0 = PREVIOUS[following] | (IDLE_STATES if following is S.PREPARE_ABORT else set())
    assert {state for state in S if may_follow(state, following, 2)} == since_4_0


@pytest.mark.parametrize(
    ("changes", "epoch", "partition", "expected"),
    [
        ({}, 5, "a-0", "NONE"),
        ({}, 5, "b-0", "TRANSACTION_ABORTABLE"),
        ({"pending": S.ONGOING}, 5, "a-0", "NONE"),
        ({}, 4, "a-0", "PRODUCER_FENCED"),
        ({"producer_id": 8}, 5, "a-0", "INVALID_PRODUCER_ID_MAPPING"),
        ({"state": S.PREPARE_ABORT}, 5, "a-0", "CONCURRENT_TRANSACTIONS"),
        ({"state": S.COMPLETE_ABORT, "partitions": ()}, 5, "a-0", "TRANSACTION_ABORTABLE"),
    ],
)
def test_what_a_leader_is_told_that_verifies(
    changes: dict[str, object], epoch: int, partition: str, expected: str
) -> None:
    metadata = replace(ONGOING, **changes)  # type: ignore[arg-type]
    assert verify_partition(metadata, 7, epoch, partition).name == expected
    assert verify_partition(None, 7, epoch, partition) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    before = "INVALID_TXN_STATE" if expected == "TRANSACTION_ABORTABLE" else expected
    assert verify_partition(metadata, 7, epoch, partition, abortable=False).name == before


def test_a_transition_under_way_is_looked_at_first_where_it_may_change_the_id() -> None:
    pending = replace(ONGOING, pending=S.COMPLETE_COMMIT, state=S.PREPARE_COMMIT)
    assert add_partitions(pending, 8, 0, ["a-0"], 20).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert add_partitions(pending, 8, 0, ["a-0"], 20, True).error is ErrorCode.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize(
    ("single", "client_version", "held"), [(False, 0, 7), (True, 1, 7), (False, 2, 6), (True, 2, 5)]
)
def test_a_fenced_epoch_counts_before_it_is_written_but_for_version_2_with_one_rise(
    single: bool, client_version: int, held: int
) -> None:
    """TransactionCoordinator.endTransactionWithTV1 sets it at once in every version; endTransaction not since 4.0.1."""
    target = replace(
        ONGOING, state=S.PREPARE_ABORT, producer_epoch=7, last_producer_epoch=6, client_version=client_version
    )
    assert preparing(replace(ONGOING, pending=S.PREPARE_EPOCH_FENCE), target, single).producer_epoch == held
    assert preparing(ONGOING, target, single).producer_epoch == 5, "no epoch is fenced"


def test_what_a_new_coordinator_does_not_know() -> None:
    written = replace(ONGOING, previous_producer_id=3, next_producer_id=8, client_version=2)
    known = replace(written, last_producer_epoch=4, pending=S.ONGOING, failed_fence=True)
    assert reloaded(known, 2) == written
    assert reloaded(known, 1) == ONGOING


@pytest.mark.parametrize("now", [0, 69, 70, 71, 200])
@pytest.mark.parametrize("pending", [None, S.ONGOING])
@pytest.mark.parametrize("state", S)
def test_timeouts(state: TransactionState, pending: TransactionState | None, now: int) -> None:
    metadata = replace(ONGOING, state=state, pending=pending)
    still = pending is None
    assert transaction_timed_out(metadata, now) is (still and state is S.ONGOING and now > 70)
    assert transactional_id_expired(metadata, now, 60) is (still and state in IDLE and now >= 70)
    assert not set(PREPARED) & set(IDLE)


def test_a_producer_id_that_is_not_the_transactional_ids_is_fenced_whatever_its_epoch() -> None:
    """TransactionCoordinator.prepareInitProducerIdTransit: isValidProducerId."""
    idle = replace(ONGOING, state=S.COMPLETE_COMMIT, partitions=())
    assert init_producer_id(idle, (9, 5), 60, 10, 20).error is ErrorCode.PRODUCER_FENCED
    assert init_producer_id(idle, (7, 5), 60, 10, 20).error is ErrorCode.NONE


def test_partitions_are_added_to_no_unknown_transactional_id() -> None:
    assert add_partitions(None, 7, 5, ("a-0",), 20).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING
