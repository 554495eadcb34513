"""The models in a line each, and what the bounds of each family mean.

Every model of ``families.FAMILIES`` has an entry here. A mutant is a model that lacks a guard, to break an invariant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ONE_PARTITION = "one partition"
ASYNC_ISR = "changes of an ISR"
ANSWERS = "answers to followers"
KRAFT = "KRaft cluster"
SETTINGS = "settings"
QUORUM = "quorum of controllers"
PRODUCERS = "producer that sends again"
COMMITS = "consumer that commits"
TRANSACTIONS = "end of a transaction"
COORDINATOR = "transaction coordinator"
GROUP = "consumer group"
MEMBERSHIP = "group with Kafka's client"


@dataclass(frozen=True, slots=True)
class About:
    """A model in a line.

    Args:
        subject: What it is a model of.
        about: How it differs from others of that.
        mutant: Whether it lacks a guard that it is meant to have.
    """

    subject: str
    about: str
    mutant: bool = False


def _mutants(model: str, subject: str, *lacks: str) -> dict[str, About]:
    return {f"{model}-m{number}": About(subject, text, mutant=True) for number, text in enumerate(lacks, 1)}


ABOUT: Mapping[str, About] = {
    "truncate-to-hw": About(ONE_PARTITION, "a follower cuts its log at its own high watermark: before KIP-101 (0.11)"),
    "kip-101": About(ONE_PARTITION, "a follower asks the leader where the epoch of its last record ends"),
    "kip-279": About(ONE_PARTITION, "a follower cuts behind the last record that it shares with the leader"),
    "kip-320-first-try": About(ONE_PARTITION, "a follower cuts when a fetch finds that the logs differ"),
    "kip-320": About(ONE_PARTITION, "as kip-279, and every request carries the leader epoch: since 2.1"),
    "kip-320-last-kept": About(ONE_PARTITION, "as kip-320; the last member stays in the ISR, as in Kafka since 1.1"),
    "kip-320-2.1": About(ONE_PARTITION, "by the engine's rules of 2.1: a follower joins the ISR by its own log end"),
    "kip-320-3.9": About(ONE_PARTITION, "by the engine's rules of 3.9: as 2.1, and a follower truncates on fetch"),
    **_mutants(
        "kip-320",
        ONE_PARTITION,
        "a leader of any epoch has a follower truncate",
        "a follower joins the ISR before it has the leader's own epoch",
        "a leader acknowledges in any epoch",
        "a follower fetches in any epoch",
        "a follower keeps up in any epoch",
        "a follower joins the ISR in any epoch",
        "a follower truncates as in KIP-101",
    ),
    **_mutants(
        "kip-320-3.9",
        ONE_PARTITION,
        "a leader goes by the offset of a fetch that tells it to truncate (KAFKA-13141)",
    ),
    "async-isr": About(
        ASYNC_ISR, "a leader waits for the controller's answer to its request for another ISR (KIP-497)"
    ),
    **_mutants("async-isr", ASYNC_ISR, "the high watermark counts with the known ISR alone"),
    "epoch-answers-2.0.1": About(ANSWERS, "before leader epochs were fenced"),
    "epoch-answers-2.1": About(ANSWERS, "an answer to a question of an earlier leader epoch counts (KAFKA-7786)"),
    "epoch-answers-2.1.1": About(ANSWERS, "an answer to a question of an earlier leader epoch is dropped"),
    "kraft": About(KRAFT, "the last member stays in the ISR, and may come back without its log"),
    "kraft-last-kept": About(KRAFT, "the last member stays in the ISR, and never loses its log"),
    "kip-966": About(KRAFT, "eligible leader replicas: a member of the ELR leads when the ISR is empty"),
    "settings-3.9": About(SETTINGS, "which faults lose an acknowledged record in 3.9, which has no ELR"),
    "settings-4.1": About(
        SETTINGS, "which faults lose an acknowledged record in 4.1 and 4.2: a new disk clears the ELR"
    ),
    "settings-4.3": About(
        SETTINGS, "which faults lose an acknowledged record in 4.3: a new disk leaves the ELR as it is"
    ),
    **{
        f"settings-{release}-mended": About(
            SETTINGS, f"as {release}; who leads again forgets the positions of its followers"
        )
        for release in ("4.1", "4.3")
    },
    "quorum": About(QUORUM, "elections of controllers, and what a majority has committed"),
    **_mutants(
        "quorum",
        QUORUM,
        "a leader commits records of earlier epochs by majority alone (figure 8 of the Raft paper)",
        "a voter forgets its vote when it crashes",
        "a voter votes for candidates whose log is behind",
        "a leader that no majority fetches from does not resign (KAFKA-15489)",
        "a voter votes for several in an epoch",
        "one vote elects",
    ),
    "retries": About(PRODUCERS, "not idempotent, several batches in flight"),
    "retries-one": About(PRODUCERS, "not idempotent, one batch in flight"),
    "retries-idempotent": About(PRODUCERS, "idempotent: sequences tell what was written"),
    "commit-before": About(COMMITS, "it commits before it processes"),
    "commit-after": About(COMMITS, "it commits after it has processed"),
    "commit-auto": About(COMMITS, "it commits by enable.auto.commit"),
    "commit-handed-over": About(COMMITS, "records are processed by others while it commits"),
    "end-txn-1": About(TRANSACTIONS, "a late EndTxn under transaction version 1"),
    "end-txn-2": About(TRANSACTIONS, "a late EndTxn under transaction version 2 (KIP-890)"),
    "producer-ids": About(COORDINATOR, "the published model of producer ids"),
    "coordinator": About(COORDINATOR, "the published model: ids, partitions, fencing, another coordinator"),
    "coordinator-3.9": About(COORDINATOR, "by the engine's rules under transaction version 1"),
    "coordinator-4.1": About(COORDINATOR, "by the engine's rules under transaction version 2"),
    **_mutants(
        "coordinator",
        COORDINATOR,
        "AddPartitionsToTxn does not compare epochs",
        "a new producer does not raise the epoch",
        "a request is decided while another one is being written",
        "InitProducerId does not wait for a transaction whose end is decided",
        "an election does not raise the epoch of the coordinator",
        "a coordinator commits that was replaced",
    ),
    "consumer-group": About(GROUP, "the published model of the consumer group protocol (KIP-848)"),
    **_mutants(
        "consumer-group",
        GROUP,
        "the coordinator does not wait until a partition is free",
        "partitions count as given up before the member has said so",
        "a group is stable once it has a target",
    ),
    "consumer-group-4.1": About(MEMBERSHIP, "by the engine's rules; a fenced member waits for the end of its session"),
    "consumer-group-4.2": About(MEMBERSHIP, "by the engine's rules; a fenced member joins again (KAFKA-19233)"),
    "consumer-group-4.3": About(MEMBERSHIP, "by the engine's rules; members that join together wait for each other"),
    "consumer-group-4.3-mended": About(MEMBERSHIP, "as 4.3; a heartbeat also names what its sender is to take over"),
    **_mutants(
        "consumer-group-4.2",
        MEMBERSHIP,
        "the coordinator does not wait until a partition is free",
        "any heartbeat counts as giving up what is to be given up",
        "a client says that it has given up partitions before it has",
        "a client names its partitions in every heartbeat",
        "a member is in the epoch of its target at once",
        "a client that is fenced keeps its partitions",
        "epochs of heartbeats are not compared",
        "the group epoch does not rise when a member goes",
    ),
}
"""Each model by its name."""

_RECORDS, _LOG, _REPLICAS = "records that are written", "most records of a log", "replicas"
_FENCES, _MIN_ISR = "brokers that run and are fenced", "min.insync.replicas"
_EPOCHS = "the largest leader epoch"

BOUNDS: Mapping[str, Mapping[str, str]] = {
    ONE_PARTITION: {"replicas": _REPLICAS, "log": _LOG, "records": _RECORDS, "last_epoch": f"{_EPOCHS}, from 0"},
    ASYNC_ISR: {"replicas": _REPLICAS, "log": _LOG, "last_epoch": "the largest partition epoch, from 0"},
    ANSWERS: {"replicas": _REPLICAS, "last_epoch": f"{_EPOCHS}, from 0"},
    KRAFT: {
        "replicas": _REPLICAS,
        "records": _RECORDS,
        "min_isr": _MIN_ISR,
        "isr": "replicas in sync at first, all unless given",
        "fences": _FENCES,
        "losses": "brokers that crash and lose their log",
        "stops": "brokers that stop and keep their log",
        "shrinks": "times that a leader takes a follower out of the ISR",
        "messages": "messages under way at once; one more ends the search",
    },
    SETTINGS: {
        "replicas": _REPLICAS,
        "records": _RECORDS,
        "acks": "acks, 1 or all",
        "min_isr": _MIN_ISR,
        "unclean": "unclean.leader.election.enable",
        "faults": "faults of any kind",
        "losses": "of these, crashes that lose the log",
        "stops": "of these, crashes that keep the log; as many as faults unless given",
        "first_leader": "the broker that leads at first, 1 the preferred; any unless given",
        "cut_offs": "of these, brokers that are up and are fenced, or slow; any number unless given",
        "power_losses": "of these, losses of power of the machine of one broker",
        "power_losses_of_all": "of these, losses of power of all machines at once",
        "flush_messages": "flush.messages; never unless given",
    },
    QUORUM: {
        "replicas": "controllers",
        "log": _LOG,
        "last_epoch": "the largest epoch, from 1",
        "records": "records that are written besides one of each leader",
        "stops": "controllers that crash and start again with their logs",
        "fences": "controllers that are cut off for good",
    },
    PRODUCERS: {"records": _RECORDS, "faults": "connections that break, requests that are refused"},
    COMMITS: {"records": _RECORDS, "faults": "crashes of the consumer"},
    TRANSACTIONS: {"records": "transactions", "faults": "requests to end a transaction that are late"},
    COORDINATOR: {
        "clients": "producers with one transactional id",
        "replicas": "brokers",
        "partitions": "partitions that a producer adds",
        "faults": "elections of another coordinator",
    },
    GROUP: {
        "clients": "consumers",
        "partitions": "topics of one partition each",
        "faults": "topics that change, members that leave, crash or are fenced",
    },
    MEMBERSHIP: {
        "clients": "consumers",
        "partitions": "partitions that all of them subscribe to",
        "faults": "members that leave or crash, sessions that end although the client runs",
        "time_outs": "times that a client does not wait for an answer any more",
    },
}
"""Meanings of bounds, by subject of the models."""

OPTIONS: Mapping[str, str] = {
    "last_epoch": "--epochs",
    "min_isr": "--min-isr",
    "isr": "--in-sync",
    "first_leader": "--first-leader",
    "cut_offs": "--cut-offs",
    "time_outs": "--time-outs",
    "power_losses": "--power-losses",
    "power_losses_of_all": "--power-losses-of-all",
    "flush_messages": "--set flush.messages",
    "acks": "--set acks",
    "unclean": "--set unclean.leader.election.enable",
}
"""Options of ``kreplica whatif prove`` that are not named as the bound is."""


def option_of(bound: str) -> str:
    """The option of ``kreplica whatif prove`` that gives a bound."""
    return OPTIONS.get(bound, f"--{bound}")
