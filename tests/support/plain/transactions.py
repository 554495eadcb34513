"""Producers and transactions in Kafka, restated with mutable objects as its sources are written.

ProducerStateEntry and ProducerAppendInfo of 4.1, TransactionMetadata and TransactionCoordinator of 4.0: exceptions,
queues and fields that change, where the rules have values.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

SHORT_MAX = 32767


class KafkaError(Exception):
    """Carries the name of the error."""

    @property
    def name(self) -> str:
        return str(self.args[0])


def said(action: Callable[[], object]) -> str:
    """The name of the error that it raises, NONE without one."""
    try:
        action()
    except KafkaError as error:
        return error.name
    return "NONE"


class ProducerEntry:
    """ProducerStateEntry with the checks of ProducerAppendInfo for one batch a request."""

    def __init__(self, retained: int) -> None:
        self.batches: deque[dict[str, int]] = deque()
        self.retained = retained
        self.epoch, self.coordinator_epoch = -1, -1
        self.txn_first_offset: int | None = None

    def find_duplicate(self, epoch: int, first: int, last: int) -> int | None:
        if epoch != self.epoch:
            return None
        for batch in self.batches:
            if batch["first"] == first and batch["last"] == last:
                return batch["offset"]
        return None

    def append_data(self, epoch: int, first: int, last: int, offset: int, *, transactional: bool) -> None:
        if epoch < self.epoch:
            raise KafkaError("INVALID_PRODUCER_EPOCH")
        self.check_sequence(epoch, first)
        if self.txn_first_offset is not None and not transactional:
            raise KafkaError("INVALID_TXN_STATE")
        self.follow_epoch(epoch)
        if len(self.batches) == self.retained:
            self.batches.popleft()
        self.batches.append({"first": first, "last": last, "offset": offset})
        if self.txn_first_offset is None and transactional:
            self.txn_first_offset = offset

    def check_sequence(self, epoch: int, first: int) -> None:
        if epoch != self.epoch:
            if first != 0 and self.epoch != -1:
                raise KafkaError("OUT_OF_ORDER_SEQUENCE_NUMBER")
        else:
            last = self.batches[-1]["last"] if self.batches else -1
            follows = first == last + 1 or (first == 0 and last == 2147483647)
            if not follows:
                raise KafkaError("OUT_OF_ORDER_SEQUENCE_NUMBER")

    def append_marker(self, epoch: int, coordinator_epoch: int, transaction_version: int = 1) -> None:
        invalid = epoch <= self.epoch if transaction_version >= 2 else epoch < self.epoch
        comes_again = epoch == self.epoch and (self.txn_first_offset is None or epoch == 32767)
        if invalid and not (transaction_version >= 2 and comes_again):
            raise KafkaError("INVALID_PRODUCER_EPOCH")
        if self.coordinator_epoch > coordinator_epoch:
            raise KafkaError("TRANSACTION_COORDINATOR_FENCED")
        self.follow_epoch(epoch)
        self.coordinator_epoch = coordinator_epoch
        self.txn_first_offset = None

    def follow_epoch(self, epoch: int) -> None:
        if self.epoch != epoch:
            self.batches.clear()
            self.epoch = epoch


@dataclass
class Transit:
    """TxnTransitMetadata."""

    state: str
    producer_id: int
    prev_producer_id: int
    next_producer_id: int
    epoch: int
    last_epoch: int
    timeout: int
    partitions: set[str]
    start: int
    update: int
    version: int


VALID_PREVIOUS = {
    "Empty": {"Empty", "CompleteCommit", "CompleteAbort"},
    "Ongoing": {"Ongoing", "Empty", "CompleteCommit", "CompleteAbort"},
    "PrepareCommit": {"Ongoing"},
    # Ongoing and PrepareEpochFence; the idle ones for clients of transaction version 2
    "PrepareAbort": {"Ongoing", "PrepareEpochFence", "Empty", "CompleteCommit", "CompleteAbort"},
    "CompleteCommit": {"PrepareCommit"},
    "CompleteAbort": {"PrepareAbort"},
    "PrepareEpochFence": {"Ongoing"},
}


@dataclass
class Metadata:
    """TransactionMetadata."""

    producer_id: int
    timeout: int
    prev_producer_id: int = -1
    next_producer_id: int = -1
    epoch: int = -1
    last_epoch: int = -1
    state: str = "Empty"
    partitions: set[str] = field(default_factory=set)
    start: int = -1
    update: int = -1
    version: int = 0
    pending: str | None = None
    failed_fence: bool = False

    @property
    def exhausted(self) -> bool:
        return self.epoch >= SHORT_MAX - 1

    def transit(self, state: str, **changes: object) -> Transit:
        assert self.pending is None, (self.pending, state)
        assert self.state in VALID_PREVIOUS[state], (self.state, state)
        target = Transit(
            state,
            self.producer_id,
            self.producer_id,
            -1,
            self.epoch,
            self.last_epoch,
            self.timeout,
            set(self.partitions),
            self.start,
            self.update,
            0,
        )
        for name, value in changes.items():
            setattr(target, name, value)
        assert target.epoch >= 0
        self.pending = state
        return target

    def fence(self) -> Transit:
        bumped = self.epoch if self.failed_fence or self.epoch == SHORT_MAX else self.epoch + 1
        return self.transit("PrepareEpochFence", epoch=bumped)

    def increment(self, timeout: int, expected: int | None, now: int) -> Transit:
        if self.exhausted:  # an IllegalStateException: the broker answers that it does not know
            raise KafkaError("UNKNOWN_SERVER_ERROR")
        if expected is None:
            epoch, last = self.epoch + 1, -1
        elif self.epoch in (-1, expected):
            epoch, last = self.epoch + 1, self.epoch
        elif expected == self.last_epoch:
            epoch, last = self.epoch, self.last_epoch
        else:
            raise KafkaError("PRODUCER_FENCED")
        return self.transit(
            "Empty", epoch=epoch, last_epoch=last, timeout=timeout, partitions=set(), start=-1, update=now
        )

    def rotate(self, fresh: int, timeout: int, now: int, *, record_last: bool) -> Transit:
        return self.transit(
            "Empty",
            producer_id=fresh,
            epoch=0,
            last_epoch=self.epoch if record_last else -1,
            timeout=timeout,
            partitions=set(),
            start=-1,
            update=now,
        )

    def abort_or_commit(self, state: str, version: int, next_id: int, now: int, *, no_partition: bool) -> Transit:
        if version == 2:
            stuck = self.epoch == SHORT_MAX and state == "PrepareAbort"
            epoch, last = self.epoch if stuck else self.epoch + 1, self.epoch
        else:
            epoch, last = self.epoch, self.last_epoch
        start = now if no_partition else self.start
        return self.transit(
            state, epoch=epoch, last_epoch=last, next_producer_id=next_id, start=start, update=now, version=version
        )

    def complete(self, now: int) -> Transit:
        self.failed_fence = False
        state = "CompleteCommit" if self.state == "PrepareCommit" else "CompleteAbort"
        changes: dict[str, object] = {"partitions": set(), "update": now, "version": self.version}
        if self.version == 2 and self.next_producer_id != -1:
            changes |= {"producer_id": self.next_producer_id, "epoch": 0}
        return self.transit(state, **changes)

    def complete_transition(self, target: Transit) -> None:
        """completeTransitionTo, with Kafka's own checks as assertions."""
        assert self.pending == target.state
        if target.state == "Empty":
            rises = target.epoch == self.epoch + 1 or (target.epoch == 0 and target.producer_id != self.producer_id)
            assert self.epoch == target.epoch or rises
            assert not target.partitions
            assert target.start == -1
        else:
            assert self.valid_epoch(target), (self, target)
            assert target.timeout == self.timeout
            assert target.state.startswith("Complete") or self.partitions <= target.partitions
        if target.state == "Empty" or (target.version == 2 and target.state.startswith("Complete")):
            self.prev_producer_id, self.producer_id = target.prev_producer_id, target.producer_id
        if target.state == "Empty" or target.version == 2:
            self.epoch, self.last_epoch = target.epoch, target.last_epoch
        if target.version == 2:
            self.next_producer_id = target.next_producer_id
        self.timeout, self.partitions, self.start = target.timeout, set(target.partitions), target.start
        self.version, self.update, self.pending, self.state = target.version, target.update, None, target.state

    def valid_epoch(self, target: Transit) -> bool:
        complete = target.state.startswith("Complete")
        overflow = target.version == 2 and complete and target.epoch == 0
        prepare = target.version == 2 and target.state in ("PrepareCommit", "PrepareAbort")
        epoch = target.last_epoch if overflow or prepare else target.epoch
        producer_id = target.prev_producer_id if overflow else target.producer_id
        if overflow:  # since KAFKA-18660 the last epoch is what the client saw
            return producer_id == self.producer_id
        return epoch == self.epoch and producer_id == self.producer_id


class Coordinator:
    """TransactionCoordinator for one transactional id: a log that always takes what is appended."""

    def __init__(self, version: int, *, single_rise: bool, fence_rotates: bool) -> None:
        self.version, self.single_rise, self.fence_rotates = version, single_rise, fence_rotates
        self.metadata: Metadata | None = None
        self.fresh = 1000
        self.transit: Transit | None = None
        """What is being written."""

    def generate(self) -> int:
        self.fresh += 1
        return self.fresh

    def init_producer_id(self, expected: tuple[int, int] | None, timeout: int, now: int) -> None:
        if self.metadata is None:
            self.metadata = Metadata(self.generate(), timeout, update=now)
        txn = self.metadata
        if txn.pending is not None:
            raise KafkaError("CONCURRENT_TRANSACTIONS")
        if expected is not None and txn.epoch != -1 and expected[0] != txn.producer_id:
            previous = expected[0] == txn.prev_producer_id and expected[1] >= SHORT_MAX - 1
            if not previous:
                raise KafkaError("PRODUCER_FENCED")
        if txn.state in ("PrepareAbort", "PrepareCommit"):
            raise KafkaError("CONCURRENT_TRANSACTIONS")
        if txn.state == "Ongoing":
            fence = txn.fence()
            self.end(txn.producer_id, fence.epoch, self.version, commit=False, client=False, now=now)
        elif txn.exhausted and (expected is None or expected[1] == txn.epoch):
            self.transit = txn.rotate(self.generate(), timeout, now, record_last=expected is not None)
        else:
            self.transit = txn.increment(timeout, None if expected is None else expected[1], now)

    def add_partitions(self, producer_id: int, epoch: int, partitions: set[str], now: int) -> None:
        txn = self.metadata
        if txn is None or txn.producer_id != producer_id:
            raise KafkaError("INVALID_PRODUCER_ID_MAPPING")
        if txn.epoch != epoch:
            raise KafkaError("PRODUCER_FENCED")
        if txn.pending is not None or txn.state in ("PrepareCommit", "PrepareAbort"):
            raise KafkaError("CONCURRENT_TRANSACTIONS")
        if txn.state == "Ongoing" and partitions <= txn.partitions:
            return
        start = now if txn.state in ("Empty", "CompleteAbort", "CompleteCommit") else txn.start
        # 4.0 writes version 0 here and 4.1 the client's: nobody reads it before the end
        self.transit = txn.transit("Ongoing", partitions=txn.partitions | partitions, start=start, update=now)

    def end(self, producer_id: int, epoch: int, version: int, *, commit: bool, client: bool, now: int) -> None:
        if version == 2:
            self.end_v2(producer_id, epoch, commit=commit, client=client, now=now)
        else:
            self.end_v1(producer_id, epoch, commit=commit, client=client, now=now)

    def end_v1(self, producer_id: int, epoch: int, *, commit: bool, client: bool, now: int) -> None:
        txn = self.metadata
        if txn is None or txn.producer_id != producer_id:
            raise KafkaError("INVALID_PRODUCER_ID_MAPPING")
        if (client and epoch != txn.epoch) or epoch < txn.epoch:
            raise KafkaError("PRODUCER_FENCED")
        if txn.pending is not None and txn.pending != "PrepareEpochFence":
            raise KafkaError("CONCURRENT_TRANSACTIONS")
        match txn.state:
            case "Ongoing":
                following = "PrepareCommit" if commit else "PrepareAbort"
                if following == "PrepareAbort" and txn.pending == "PrepareEpochFence":
                    txn.pending, txn.epoch, txn.last_epoch = None, epoch, -1
                self.transit = txn.abort_or_commit(following, 0, -1, now, no_partition=False)
            case "CompleteCommit" | "CompleteAbort":
                if txn.state != ("CompleteCommit" if commit else "CompleteAbort"):
                    raise KafkaError("INVALID_TXN_STATE")
            case "PrepareCommit" | "PrepareAbort":
                same = txn.state == ("PrepareCommit" if commit else "PrepareAbort")
                raise KafkaError("CONCURRENT_TRANSACTIONS" if same else "INVALID_TXN_STATE")
            case _:
                raise KafkaError("INVALID_TXN_STATE")

    def end_v2(self, producer_id: int, epoch: int, *, commit: bool, client: bool, now: int) -> None:
        txn = self.metadata
        if txn is None:
            raise KafkaError("INVALID_PRODUCER_ID_MAPPING")
        fence = txn.pending == "PrepareEpochFence"
        on_overflow = not fence and txn.prev_producer_id == producer_id and epoch == SHORT_MAX - 1 and txn.epoch == 0
        on_bump = not fence and txn.epoch == epoch + 1
        match txn.state if not fence else "fence":
            case "fence":
                valid = (not client or epoch == txn.epoch) and epoch >= txn.epoch
            case "Ongoing" | "Empty":
                valid = epoch == txn.epoch
            case "PrepareCommit" | "PrepareAbort":
                valid = on_bump
            case _:
                valid = on_bump or on_overflow or epoch == txn.epoch
        if txn.pending is not None and not fence:
            raise KafkaError("CONCURRENT_TRANSACTIONS")
        if txn.producer_id != producer_id and not on_overflow:
            raise KafkaError("INVALID_PRODUCER_ID_MAPPING")
        if not valid:
            raise KafkaError("PRODUCER_FENCED")
        self.end_v2_by_state(txn, epoch, commit=commit, retry=on_bump or on_overflow, fence=fence, now=now)

    def end_v2_by_state(self, txn: Metadata, epoch: int, *, commit: bool, retry: bool, fence: bool, now: int) -> None:
        match (txn.state, "commit" if commit else "abort"):
            case ("Ongoing", _):
                self.generate_transit(txn, epoch, commit=commit, fence=fence, no_partition=False, now=now)
            case ("CompleteCommit", "commit"):
                if not retry:
                    raise KafkaError("INVALID_TXN_STATE")
            case ("CompleteCommit", "abort"):
                if retry:
                    raise KafkaError("INVALID_TXN_STATE")
                self.generate_transit(txn, epoch, commit=False, fence=fence, no_partition=True, now=now)
            case ("CompleteAbort", "abort"):
                if not retry:
                    self.generate_transit(txn, epoch, commit=False, fence=fence, no_partition=True, now=now)
            case ("PrepareCommit", "commit") | ("PrepareAbort", "abort"):
                raise KafkaError("CONCURRENT_TRANSACTIONS")
            case ("Empty", "abort"):
                self.generate_transit(txn, epoch, commit=False, fence=fence, no_partition=True, now=now)
            case _:
                raise KafkaError("INVALID_TXN_STATE")

    def generate_transit(
        self, txn: Metadata, epoch: int, *, commit: bool, fence: bool, no_partition: bool, now: int
    ) -> None:
        next_id = self.generate() if txn.exhausted and (self.fence_rotates or not fence) else -1
        if not commit and fence:
            txn.pending = None
            if not self.single_rise:
                txn.epoch, txn.last_epoch = epoch, -1
        following = "PrepareCommit" if commit else "PrepareAbort"
        self.transit = txn.abort_or_commit(following, 2, next_id, now, no_partition=no_partition)

    def written(self) -> None:
        """The log has taken what was to be written."""
        assert self.metadata is not None
        assert self.transit is not None
        transit, self.transit = self.transit, None
        self.metadata.complete_transition(transit)

    def markers_written(self, now: int) -> None:
        assert self.metadata is not None
        self.transit = self.metadata.complete(now)
        self.written()
