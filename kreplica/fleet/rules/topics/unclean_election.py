"""A replica that was not in sync became leader: records that were acknowledged may be lost.

A leader out of the in-sync replicas seen before proves nothing by itself, since a replica that joins them raises no
leader epoch: 0 leads, 2 joins, 0 stops, 2 leads, all of it clean. It is proved by a partition epoch (in ZooKeeper mode
the version of the state's znode) that is one higher, so that one change did it; and by LeaderRecoveryState RECOVERING,
which nothing else sets (PartitionRegistration, KIP-704). It is likely where the partition had no leader and the leader
epoch is one higher: in-sync replicas only join while there is a leader. A high watermark that went back on one topic
id is a sign of its own. Where a metadata log tells of the time, its records alone count: one record made the leader.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.lasting import Lasting
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.health.rules import Severity
from kreplica.model.predicates import expressions as ex
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.settings import ELR_FEATURE, METADATA_VERSION
from kreplica.model.tables.columns import Indices, Mask
from kreplica.model.tables.schema import PARTITIONS

NAME, SEVERITY = "unclean-election", Severity.WARNING
RECOVERING = 1
_NEW_LEADER = ex.Column("new_leader")


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Leaders from outside the in-sync replicas, partitions that began to recover, high watermarks that went back."""
    elections = list(_elections(history, history.partitions))
    shorter = list(_shorter(history))
    for one in elections:
        sign = next((back for back in shorter if back.explains(one)), None)
        if sign is None or one.certainty is not Certainty.POSSIBLE:
            yield one
        else:
            evidence = {**one.evidence, "proof": "high-watermark", **sign.evidence()}
            yield replace(one, certainty=Certainty.LIKELY, severity=Severity.CRITICAL, evidence=evidence)
    for back in shorter:
        if not any(back.explains(one) for one in elections):
            yield history.finding(
                Span.event(back.before, back.after),
                history.partitions.tellers,
                rule=NAME,
                severity=Severity.CRITICAL,
                certainty=Certainty.LIKELY,
                message=f"likely unclean: the high watermark went back from {back.was} to {back.now}",
                topic=back.topic,
                partition=back.partition,
                evidence={"proof": "high-watermark", **back.evidence()},
            )


@dataclass(frozen=True, slots=True)
class _Shorter:
    """A high watermark that is lower than in the sample before, under one topic id.

    Args:
        topic: The topic.
        partition: The partition.
        before: Number of the observation of the sample before.
        after: Number of that of the lower one.
        times: Milliseconds of both.
        was: The high watermark before.
        now: The lower one.
    """

    topic: str
    partition: int
    before: int
    after: int
    times: tuple[int, int]
    was: int
    now: int

    def explains(self, one: FleetFinding) -> bool:
        """True if an election lies between the samples."""
        inside = self.times[0] < one.valid_from_ms <= self.times[1]
        return inside and (one.topic, one.partition) == (self.topic, self.partition)

    def evidence(self) -> dict[str, object]:
        """Both offsets."""
        return {"high_watermark_before": self.was, "high_watermark_after": self.now}


def _shorter(history: ClusterHistory) -> Iterator[_Shorter]:
    samples = history.samples(PARTITIONS)
    rows = samples.known("high_watermark")
    keys, ends = samples.keys()[rows], samples.rows.integers("high_watermark").values[rows]
    back = np.flatnonzero((keys[1:] == keys[:-1]) & (ends[1:] < ends[:-1]))
    for at in back.tolist():
        row = int(rows[at])
        topic, partition = str(samples.rows.strings("topic")[row]), int(samples.rows.integers("partition").values[row])
        before, after = int(samples.numbers[row]), int(samples.numbers[rows[at + 1]])
        one, other = (_topic_id(history.partitions, topic, partition, number) for number in (before, after))
        if one is not None and one == other:
            times = int(history.times[before]), int(history.times[after])
            yield _Shorter(topic, partition, before, after, times, int(ends[at]), int(ends[at + 1]))


def _topic_id(table: Lasting, topic: str, partition: int, number: int) -> str | None:
    """The id that a partition's topic had in an observation; None where it is not known."""
    topics, runs = table.strings("topic"), table.runs
    there = (runs.first <= number) & (runs.last >= number) & (table.integers("partition").values == partition)
    for row in np.flatnonzero(there).tolist():
        if topics[row] == topic:
            return table.strings("topic_id")[row]
    return None


def _elections(history: ClusterHistory, table: Lasting) -> Iterator[FleetFinding]:
    """Leaders that were neither in sync nor eligible before, and partitions that began to recover."""
    if not len(table):
        return
    before, after = table.changes
    outside = _led_from_outside(table, before, after)
    recovers = _begins_to_recover(table, before, after)
    for row in np.flatnonzero(outside | recovers).tolist():
        one = _judged(history, table, int(before[row]), int(after[row]), recovers=bool(recovers[row]))
        if one is not None:
            yield one


def _led_from_outside(table: Lasting, before: Indices, after: Indices) -> Mask:
    leader = table.integers("leader")
    columns = {name: table.lists(name).take(before) for name in ("isr", "elr")}
    asked = Evaluator(table.evaluator.snapshot, {**columns, "new_leader": leader.take(after)})
    was_in_sync = asked.boolean(ex.Contains(ex.Column("isr"), _NEW_LEADER))
    was_eligible = asked.boolean(ex.Contains(ex.OrEmpty(ex.Column("elr")), _NEW_LEADER)).is_true()
    known = ~was_in_sync.is_null() & (leader.take(after).values >= 0)
    other = table.codes("leader")[before] != table.codes("leader")[after]
    found: Mask = known & other & ~was_in_sync.is_true() & ~was_eligible
    return found


def _begins_to_recover(table: Lasting, before: Indices, after: Indices) -> Mask:
    codes = table.codes("recovery_state")
    found: Mask = (codes[after] == RECOVERING) & (codes[before] != RECOVERING)
    return found


def _judged(history: ClusterHistory, table: Lasting, before: int, after: int, *, recovers: bool) -> FleetFinding | None:
    span = Span.event(int(table.runs.last[before]), int(table.runs.first[after]))
    by_log = history.exactly(span)
    old, new = _facts(table, before), _facts(table, after)
    eligible = not by_log and _may_have_eligible(history, table, before)
    enabled = [side["unclean_leader_election"] for side in (old, new)]
    certainty, proof = _certainty(old, new, recovers=recovers, eligible=eligible)
    if by_log and certainty is Certainty.POSSIBLE and not _rose_by_more(old, new):
        certainty, proof = Certainty.PROVED, "metadata-log"
    if certainty is Certainty.POSSIBLE and True not in enabled:
        return None
    leader = new["leader"]
    was, told = _ids(old["isr"]), _ADVERBS[certainty]
    return history.finding(
        span,
        table.tellers,
        rule=NAME,
        severity=SEVERITY if certainty is Certainty.POSSIBLE else Severity.CRITICAL,
        certainty=certainty,
        message=f"{told} unclean: broker {leader} leads after {_leader(old['leader'])}, in sync before: {was}",
        topic=table.strings("topic")[after],
        partition=table.integers("partition")[after],
        evidence={"proof": proof, "leader": leader, "before": old, "after": new},
    )


_ADVERBS = {Certainty.PROVED: "proved", Certainty.LIKELY: "likely", Certainty.POSSIBLE: "possibly"}
_SHOWN = ("leader", "leader_epoch", "partition_epoch", "isr", "elr", "recovery_state", "unclean_leader_election")


def _facts(table: Lasting, row: int) -> dict[str, object]:
    return {name: table.columns[name][row] for name in _SHOWN}


def _certainty(
    old: dict[str, object], new: dict[str, object], *, recovers: bool, eligible: bool
) -> tuple[Certainty, str]:
    """Certainty, and the sign that gives it."""
    if recovers:
        return Certainty.PROVED, "recovery-state"
    if _rose_by_one(old, new, "partition_epoch"):
        return (Certainty.LIKELY if eligible else Certainty.PROVED), "partition-epoch"
    if old["leader"] == -1 and _rose_by_one(old, new, "leader_epoch") and not eligible:
        return Certainty.LIKELY, "leader-epoch"
    return Certainty.POSSIBLE, "leader"


def _rose_by_more(old: dict[str, object], new: dict[str, object]) -> bool:
    """True if records of one millisecond changed the partition more than once."""
    one, other = old["partition_epoch"], new["partition_epoch"]
    return isinstance(one, int) and isinstance(other, int) and other > one + 1


def _rose_by_one(old: dict[str, object], new: dict[str, object], name: str) -> bool:
    one, other = old[name], new[name]
    return isinstance(one, int) and isinstance(other, int) and other == one + 1


def _may_have_eligible(history: ClusterHistory, table: Lasting, row: int) -> bool:
    """True if there may have been eligible leader replicas that nobody told (KIP-966)."""
    if table.lists("elr")[row] is not None:
        return False
    features = history.features[int(table.runs.last[row])]
    return features.get(ELR_FEATURE, 0) > 0 if METADATA_VERSION in features else False


def _leader(value: object) -> str:
    return "an unknown leader" if value is None else "nobody" if value == NO_LEADER else str(value)


def _ids(value: object) -> str:
    return ",".join(map(str, value)) or "none" if isinstance(value, list) else "unknown"


RULE = FleetRule(
    NAME,
    SEVERITY,
    (PARTITIONS,),
    "a replica that was not in sync became leader: records that were acknowledged may be lost; only possible, and"
    " told only where unclean elections are enabled, when an in-sync replica may have become leader unseen",
    "compare the offsets of consumers and mirrors with the partition; set unclean.leader.election.enable=false",
    find,
    worst=Severity.CRITICAL,
)
