"""The folds on traces written by hand: what each verdict is by its own definition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kreplica.engine.checkers.histories import Histories
from kreplica.engine.checkers.invariants import Invariant
from kreplica.engine.checkers.outcome import Judge, Outcome, measure
from kreplica.engine.setup import PartitionStart, ReaderSetup, Setup, TopicSetup, cluster
from kreplica.engine.trace import ABORT, COMMIT, KINDS, Kind, Record, Trace
from kreplica.engine.versions.supported import LATEST

ONE, TWO, READER, WRITER = "broker-1", "broker-2", "app-reader", "app-writer"
LEADS, FOLLOWS = "leader", "follower"
P = "t-0"
SETUP = cluster(
    2,
    TopicSetup("t", ((1, 2),), {"min.insync.replicas": 2}),
    clients=(ReaderSetup(READER, (P,), settings={"isolation.level": "read_committed"}),),
)


def judge(*events: tuple[object, ...], end: int = 1_000_000, setup: Setup = SETUP) -> Outcome:
    """Plays (kind, node, *values) one millisecond after the other."""
    trace = Trace()
    folds = Judge(setup, LATEST, trace)
    for place, (kind, node, *values) in enumerate(events):
        assert len(values) == len(KINDS[str(kind)].fields), kind
        trace.emit(place * 1000, str(kind), str(node), tuple(values))
    return folds.outcome(end)


def leads(node: str, epoch: int, isr: tuple[int, ...] = (1, 2), start: int = 0) -> tuple[object, ...]:
    return (Kind.BECAME_LEADER, node, P, epoch, isr, start)


def append(node: str, base: int, role: str, *records: Record) -> tuple[object, ...]:
    return (Kind.APPENDED, node, P, base, base + len(records), records, role)


def mark(node: str, offset: int, role: str = LEADS) -> tuple[object, ...]:
    return (Kind.HIGH_WATERMARK, node, P, offset, role)


def told(value: str, offset: int) -> Iterable[tuple[object, ...]]:
    return ((Kind.SENT, WRITER, P, value, -1), (Kind.ACKNOWLEDGED, WRITER, P, value, offset, -1))


def read(value: str, offset: int, group: str = "") -> tuple[object, ...]:
    return (Kind.CONSUMED, READER, P, offset, value, group)


M1, M2, M3 = Record(0, "m1"), Record(0, "m2"), Record(1, "m3")
REPLICATED = (
    leads(ONE, 0),
    append(ONE, 0, LEADS, M1, M2),
    append(TWO, 0, FOLLOWS, M1, M2),
    mark(ONE, 2),
    *told("m1", 0),
    *told("m2", 1),
    mark(TWO, 1, FOLLOWS),
)


def broken(outcome: Outcome) -> list[Invariant]:
    return [finding.invariant for finding in outcome.findings]


def test_a_run_without_faults_is_safe() -> None:
    outcome = judge(*REPLICATED, read("m1", 0), read("m2", 1))
    assert outcome.is_safe
    assert outcome.histories == Histories(sent=2, acknowledged=2)


def test_the_loss_of_kip_101() -> None:
    # scenario 1: the follower cuts to its high watermark, then leads
    outcome = judge(
        *REPLICATED,
        (Kind.TRUNCATED, TWO, P, 2, 1, ""),
        (Kind.CRASHED, ONE, False),
        leads(TWO, 1, (2,), 1),
    )
    assert outcome.histories.lost == ("m2",)
    assert broken(outcome) == [Invariant.COMMITTED_LOST]
    (finding,) = outcome.findings
    assert (finding.partition, finding.offset, finding.node) == (P, 1, TWO)
    assert finding.expected == "m2 of epoch 0"
    assert measure(outcome, "committed-record-lost") == 1


def test_the_divergence_of_kip_101() -> None:
    # scenario 2: offset 1 is m2 on one broker and m3 on the other, both below their high watermarks
    outcome = judge(
        leads(ONE, 0),
        append(ONE, 0, LEADS, M1, M2),
        append(TWO, 0, FOLLOWS, M1, M2),
        mark(ONE, 2),
        mark(TWO, 1, FOLLOWS),
        (Kind.CRASHED, ONE, True),
        (Kind.CRASHED, TWO, True),
        (Kind.STARTED, TWO),
        (Kind.RECOVERED, TWO, P, 1, 1, 1),
        leads(TWO, 1, (2,), 1),
        append(TWO, 1, LEADS, M3),
        mark(TWO, 2),
        (Kind.STARTED, ONE),
        (Kind.RECOVERED, ONE, P, 2, 0, 2),
        (Kind.FOLLOWER_POSITION, TWO, P, 1, 2),  # its leader takes m2 for what it has there itself
    )
    assert outcome.diverged == (P,)
    assert broken(outcome) == [Invariant.COMMITTED_LOST, Invariant.DIVERGED]
    assert outcome.findings[1].offset == 1
    assert outcome.findings[1].found == "m2 of epoch 0"


def test_a_leader_that_hears_late_of_its_election_loses_nothing() -> None:
    """It was elected in epoch 1, stood still, and is fenced by epoch 2 before it leads."""
    late = (leads(TWO, 2, start=2), leads("broker-3", 1, isr=(3,)))
    assert judge(*REPLICATED, *late).is_safe
    in_time = (leads("broker-3", 1, isr=(3,)),)
    assert broken(judge(*REPLICATED, *in_time)) == [Invariant.COMMITTED_LOST]


def test_a_failed_send_is_no_loss() -> None:
    outcome = judge(leads(ONE, 0), (Kind.SENT, WRITER, P, "m9", -1), (Kind.SEND_FAILED, WRITER, P, "m9", "timeout"))
    assert outcome.histories == Histories(sent=1, failed=1)


def test_high_watermark_never_goes_back_in_an_epoch() -> None:
    assert broken(judge(*REPLICATED, mark(ONE, 1))) == [Invariant.HIGH_WATERMARK_BACK]
    later = judge(*REPLICATED, leads(TWO, 1, (1, 2), 2))
    assert (broken(later), later.setbacks) == ([], 1)


def test_a_high_watermark_lies_within_the_log_on_every_replica() -> None:
    assert broken(judge(*REPLICATED, mark(TWO, 2, FOLLOWS))) == []
    assert broken(judge(*REPLICATED, mark(TWO, 3, FOLLOWS))) == [Invariant.HIGH_WATERMARK_OUTSIDE]
    assert broken(judge(*REPLICATED, (Kind.LOG_START, TWO, P, 2), mark(TWO, 1, FOLLOWS))) == [
        Invariant.HIGH_WATERMARK_OUTSIDE
    ]
    stopped = (Kind.CRASHED, TWO, False), (Kind.STARTED, TWO)
    assert broken(judge(*REPLICATED, *stopped, (Kind.RECOVERED, TWO, P, 2, 0, 2))) == []
    assert broken(judge(*REPLICATED, *stopped, (Kind.RECOVERED, TWO, P, 2, 0, 3))) == [Invariant.HIGH_WATERMARK_OUTSIDE]


def test_last_stable_offset_above_the_high_watermark() -> None:
    outcome = judge(*REPLICATED, (Kind.LAST_STABLE_OFFSET, ONE, P, 2), (Kind.LAST_STABLE_OFFSET, ONE, P, 3))
    assert broken(outcome) == [Invariant.LSO_ABOVE_HIGH_WATERMARK]


def test_two_leaders_write_in_one_epoch() -> None:
    outcome = judge(*REPLICATED, leads(TWO, 0), append(TWO, 2, LEADS, Record(0, "m4")))
    assert broken(outcome) == [Invariant.TWO_LEADERS]


def test_uncommitted_data_read() -> None:
    outcome = judge(leads(ONE, 0), append(ONE, 0, LEADS, M1), read("m1", 0))
    assert broken(outcome) == [Invariant.UNCOMMITTED_READ]


def test_duplicates_order_and_what_nobody_can_read() -> None:
    outcome = judge(
        leads(ONE, 0),
        *((Kind.SENT, WRITER, P, value, 1) for value in ("a", "b", "c")),
        append(ONE, 0, LEADS, *(Record(0, value) for value in ("b", "a", "b", "c"))),
        (Kind.ACKNOWLEDGED, WRITER, P, "c", 3, 1),
        mark(ONE, 3),
    )
    histories = outcome.histories
    assert (histories.duplicated, histories.reordered, histories.unseen) == (("b",), ("a",), ("c",))
    assert histories.lost == ()


def test_an_aborted_record_is_neither_lost_nor_doubled_and_must_not_be_read() -> None:
    begun = [Record(0, value, 7, 0, number, transactional=True) for number, value in enumerate(("x", "y"))]
    outcome = judge(
        leads(ONE, 0),
        append(ONE, 0, LEADS, *begun, Record(0, "", 7, 0, -1, ABORT)),
        append(ONE, 3, LEADS, begun[0], Record(0, "", 7, 0, -1, COMMIT)),
        mark(ONE, 5),
        *told("x", 0),
        read("y", 1),
    )
    assert outcome.histories.aborted_read == ("y",)
    assert outcome.histories.duplicated == ()
    assert outcome.histories.lost == ()


def test_what_a_consumer_sees() -> None:
    many = [Record(0, f"v{number}") for number in range(4)]
    outcome = judge(
        leads(ONE, 0),
        append(ONE, 0, LEADS, *many),
        mark(ONE, 4),
        *told("v1", 1),
        read("v0", 0),
        read("v2", 2),
        read("v0", 0),
        read("v3", 3),
    )
    histories = outcome.histories
    assert histories.skipped == ("v1",)
    assert histories.own_unread == ("v1",)
    assert histories.read_twice == ("v0",)
    assert histories.non_monotonic == ("v0",)


def test_a_read_from_a_replica_left_behind_is_stale() -> None:
    outcome = judge(*REPLICATED, leads(TWO, 1, (2,), 2), (Kind.TRUNCATED, TWO, P, 2, 1, ""), read("m2", 1))
    assert outcome.histories.stale_read == ("m2",)
    assert outcome.histories.lost_read == ("m2",)


def test_spans_and_latency() -> None:
    outcome = judge(
        leads(ONE, 0),  # 0 ms
        (Kind.SENT, WRITER, P, "m1", -1),
        (Kind.CRASHED, ONE, False),  # 2 ms
        (Kind.PARTITION_CHANGED, "controller-1", P, 2, 1, (2,), (), 1, "", ""),  # 3 ms: ISR below min ISR
        leads(TWO, 1, (2,)),  # 4 ms
        (Kind.ACKNOWLEDGED, WRITER, P, "m1", 0, -1),  # 5 ms
        (Kind.PARTITION_CHANGED, "controller-1", P, 2, 1, (2, 1), (), 2, "", ""),  # 6 ms
        end=10_000,
    )
    measures = outcome.measures
    assert measures.unavailable_ms == 2
    assert measures.read_only_ms == 3
    assert (measures.leader_changes, measures.isr_changes) == (1, 2)  # the ISR it began with counts
    assert measures.produce_us == (4000,)
    assert measure(outcome, "produce_ms_99") == 4
    assert measure(outcome, "count:crashed") == 1


def test_a_partition_whose_first_leader_is_down_has_none_from_the_beginning() -> None:
    """Where its first leader runs, that one is waited for: it only has not begun yet."""
    late = ((Kind.SENT, WRITER, P, "m1", -1), (Kind.SENT, WRITER, P, "m2", -1), leads(TWO, 1, isr=(2,)))
    for leader, down, milliseconds in ((1, (), 0), (1, (ONE,), 2), (1, (TWO,), 0), (-1, (), 2), (-1, (TWO,), 2)):
        topics = (TopicSetup("t", ((1, 2),), starts={0: PartitionStart(leader, (2,))}),)
        outcome = judge(*late, setup=replace(SETUP, topics=topics, down=down))
        assert outcome.measures.unavailable_ms == milliseconds
