"""Rows of the answers of kreplica whatif: scenarios, their cases, what came out of runs, and every step of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Struct

from kreplica.model.tables.rows import Meaning


class ListedScenario(Struct, frozen=True):
    """A scenario of the library."""

    scenario: Annotated[str, Meaning("name of the scenario")]
    title: Annotated[str, Meaning("what it shows, in one line", fold=True)]
    versions: Annotated[Sequence[str], Meaning("versions of Kafka at which something else comes out", drop=1)]
    played_under: Annotated[
        str, Meaning("which versions of Kafka, and which mode, have what it is about", screen=False)
    ]
    source: Annotated[str, Meaning("where it is from", screen=False)]


class ScenarioCase(Struct, frozen=True):
    """The expected outcome of a scenario, from a version on."""

    version: Annotated[str, Meaning("version of Kafka from which on this comes out")]
    settings: Annotated[Mapping[str, Any], Meaning("other settings than the scenario's own, an object")]
    expected: Annotated[Mapping[str, Any], Meaning("what must come out, an object: measures by name")]
    controllers: Annotated[Sequence[str], Meaning("the modes that it holds for: zookeeper, kraft")]


class ComparedRun(Struct, frozen=True, kw_only=True):
    """The outcome of a scenario under one version and its settings; all null but the first if it was not played."""

    scenario: Annotated[str, Meaning("name of the scenario")]
    version: Annotated[str, Meaning("version of Kafka whose rules and defaults held")]
    settings: Annotated[Mapping[str, Any], Meaning("other settings than the scenario's own, an object")]
    seed: Annotated[int, Meaning("where chance began")]
    as_expected: Annotated[
        bool | None,
        Meaning("whether what the scenario says came out, null where it says nothing of these settings"),
    ] = None
    acknowledged: Annotated[int | None, Meaning("records of which the application was told that they are written")] = (
        None
    )
    failed: Annotated[int | None, Meaning("sends that failed: their records may be there or not")] = None
    lost: Annotated[Sequence[str] | None, Meaning("acknowledged records that the leader's log lacks at the end")] = None
    unseen: Annotated[
        Sequence[str] | None,
        Meaning("acknowledged records at or above the high watermark at the end: nobody can read them"),
    ] = None
    duplicated: Annotated[Sequence[str] | None, Meaning("records that can be read more than once")] = None
    reordered: Annotated[Sequence[str] | None, Meaning("records behind one that the same producer sent later")] = None
    diverged: Annotated[
        Sequence[str] | None, Meaning("partitions of which two logs differ below both high watermarks")
    ] = None
    torn: Annotated[
        Sequence[str] | None,
        Meaning("transactions, as producer and number, of which read_committed consumers can read a part"),
    ] = None
    broken: Annotated[
        Sequence[str] | None,
        Meaning("transactions whose producer was told otherwise than what can be read of them"),
    ] = None
    hanging: Annotated[
        Sequence[str] | None, Meaning("partitions with records of a transaction that nobody has ended")
    ] = None
    aborted_read: Annotated[
        Sequence[str] | None, Meaning("records of aborted transactions that a read_committed consumer read")
    ] = None
    stale_read: Annotated[
        Sequence[str] | None, Meaning("records read from a replica whose log was not the leader's there")
    ] = None
    lost_read: Annotated[Sequence[str] | None, Meaning("records that were read and are gone at the end")] = None
    read_twice: Annotated[
        Sequence[str] | None, Meaning("records that a group, or a consumer without one, read more than once")
    ] = None
    skipped: Annotated[Sequence[str] | None, Meaning("records that a group or consumer passed over")] = None
    owned_twice: Annotated[
        Sequence[str] | None, Meaning("partitions that two members of a group had at the same time")
    ] = None
    unavailable_ms: Annotated[float | None, Meaning("milliseconds without a leader, over all partitions")] = None
    read_only_ms: Annotated[float | None, Meaning("milliseconds below min.insync.replicas, over all partitions")] = None
    produce_ms_50: Annotated[
        float | None, Meaning("median of the milliseconds from send to acknowledgement, null without any")
    ] = None
    produce_ms_99: Annotated[float | None, Meaning("what 99 of 100 sends did not exceed")] = None
    produce_ms_max: Annotated[float | None, Meaning("the longest")] = None
    leader_changes: Annotated[int | None, Meaning("how often another broker became leader")] = None
    isr_changes: Annotated[int | None, Meaning("how often another ISR was written")] = None
    not_played: Annotated[
        str | None, Meaning("why this column cannot be played, and all else is null; null if it was")
    ] = None


class TimelineStep(Struct, frozen=True):
    """One event of a run, and the offsets of its partition afterwards."""

    time_ms: Annotated[float, Meaning("virtual time in milliseconds")]
    node: Annotated[str, Meaning("where it happened; plan for what the plan of faults does")]
    kind: Annotated[str, Meaning("kind of event")]
    partition: Annotated[Any, Meaning("partition it is about, null if none")]
    what: Annotated[str, Meaning("the event as a sentence")]
    rule: Annotated[str | None, Meaning("[rule of the protocol](protocol-rules.md) that acted, null if none did")]
    rule_source: Annotated[str | None, Meaning("Kafka's classes, KIPs and issues that the rule names")]
    values: Annotated[Mapping[str, Any] | None, Meaning("what the event says, an object by name; null of a message")]
    sender: Annotated[
        str | None,
        Meaning("of a message: the node that sent it; null of other events, as the fields up to carries"),
    ]
    receiver: Annotated[str | None, Meaning("the node that got it")]
    message: Annotated[
        str | None,
        Meaning("its name: of a request Kafka's or ZooKeeper's, of an answer with answer behind it"),
    ]
    sent_ms: Annotated[float | None, Meaning("when it was sent, in milliseconds of virtual time")]
    received_ms: Annotated[float | None, Meaning("when it arrived")]
    carries: Annotated[Sequence[Any] | None, Meaning("its contents, a list")]
    leader: Annotated[str | None, Meaning("the partition's leader afterwards, null if none")]
    leader_leo: Annotated[int | None, Meaning("the leader's log end offset")]
    remote_leo: Annotated[
        Mapping[str, int] | None,
        Meaning("what the leader knows of its followers' log end offsets, an object by node"),
    ]
    leader_hw: Annotated[int | None, Meaning("the leader's high watermark")]
    follower_leo: Annotated[Mapping[str, int] | None, Meaning("the other replicas' log end offsets, an object by node")]
    follower_hw: Annotated[
        Mapping[str, int | None] | None,
        Meaning("the other replicas' high watermarks, an object by node; null of one that is down"),
    ]


class RandomRun(Struct, frozen=True):
    """The verdict on one run under random faults."""

    seed: Annotated[int, Meaning("where chance began")]
    acknowledged: Annotated[int, Meaning("records of which the application was told that they are written")]
    faults: Annotated[int, Meaning("steps of its plan that came about")]
    wrong: Annotated[Sequence[str], Meaning("what went wrong")]
    lost: Annotated[int, Meaning("number of acknowledged records that were lost")]
    unavailable_ms: Annotated[float, Meaning("milliseconds without a leader, over all partitions")]
    trace_hash: Annotated[str, Meaning("hash over every event of the run")]
