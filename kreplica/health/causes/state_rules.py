"""Causes shown by the state of brokers, directories and settings: each rule judges every missing replica.

A rule takes the facts and the missing replicas that no earlier rule has explained, and returns for which of them it
holds. ``STATE_RULES`` is ordered by certainty: a replica whose broker is gone is not examined further.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kreplica.health.causes.cause import CauseKind
from kreplica.health.causes.facts import LEADER_NOT_KNOWN, NO_LEADER, Facts, Missing
from kreplica.model.tables.columns import IntListColumn, Mask

FEW = 0.1
"""Greatest share of replicas out of sync with which a broker still counts as keeping up."""

Rule = Callable[[Facts, Missing], Mask]


def broker_fenced(facts: Facts, missing: Missing) -> Mask:
    """The KRaft controller has fenced the broker: it is registered, but its heartbeats do not arrive (KIP-631).

    A broker that died, one that hangs and one that starts are all fenced; a fenced broker is in no ISR and leads
    nothing (ReplicationControlManager.handleBrokerFenced).
    """
    return facts.fenced[facts.index(missing.brokers)]


def broker_gone(facts: Facts, missing: Missing) -> Mask:
    """The cluster has no such broker, or knows it as dead."""
    return facts.gone[facts.index(missing.brokers)]


def log_directory_offline(facts: Facts, missing: Missing) -> Mask:
    """The cluster reports the replica offline on a live broker, and that broker has an offline log directory (KIP-112).

    An offline directory does not report its replicas, so it is not known which of several held this one.
    """
    broken = np.array(sorted(facts.offline_directories), dtype=np.int64)
    return missing.offline & np.isin(missing.brokers, broken)


def replica_offline(_: Facts, missing: Missing) -> Mask:
    """The cluster reports the replica offline on a live broker; its log directories are not known or look well."""
    return missing.offline


def reassignment(_: Facts, missing: Missing) -> Mask:
    """A reassignment is adding the replica, and it has not copied everything yet (KIP-455)."""
    return missing.adding


def no_leader(facts: Facts, missing: Missing) -> Mask:
    """There is no leader to copy from, and every replica that could lead is on a broker that is gone or offline.

    Those that could lead are the ISR, or where that is empty the eligible leader replicas (KIP-966).
    """
    held = waiting_for(facts, missing)
    return np.array([broker is not None for broker in held], dtype=np.bool_)


def waiting_for(facts: Facts, missing: Missing) -> list[int | None]:
    """The first broker that could lead each leaderless partition, where all of these are unreachable; else None."""
    without = missing.leaders == NO_LEADER
    found: list[int | None] = [None] * len(missing)
    isr, eligible = facts.isr, facts.snapshot.lists("elr")
    offline = facts.snapshot.lists("offline_replicas")
    for place in np.flatnonzero(without).tolist():
        row = int(missing.rows[place])
        able = isr[row] or eligible[row] or []
        lost = [broker for broker in able if _unreachable(facts, broker, offline, row)]
        if able and len(lost) == len(able):
            found[place] = lost[0]
    return found


def _unreachable(facts: Facts, broker: int, offline: IntListColumn, row: int) -> bool:
    place = np.searchsorted(facts.broker_ids, broker)
    if place == len(facts.broker_ids) or facts.broker_ids[place] != broker:
        return True
    return bool(facts.fenced[place] or facts.gone[place]) or broker in (offline[row] or ())


def throttle(facts: Facts, missing: Missing) -> Mask:
    """A throttle list names the replica, a rate is set on that side, and no unlisted replica contradicts it.

    Listed on the leader's side: the leader's own entry and its leader rate; on the follower's side: the follower's
    entry and its follower rate. An out-of-sync listed replica is held to the rate for any cause of its lag, so a
    throttle left over from a reassignment counts, too. Evidence against it: the same broker is out of sync where
    it is not listed, by more than FEW of what it is listed for, or several followers of the same leader are.
    """
    listed = np.array([bool(rates) for rates in throttle_rates(facts, missing)], dtype=np.bool_)
    if not listed.any():
        return listed
    unlisted = missing.take(~listed & (missing.leaders >= 0))
    size, own = len(facts.broker_ids), facts.index(missing.brokers)
    elsewhere = np.bincount(facts.index(unlisted.brokers), minlength=size)
    troubled = elsewhere > FEW * np.bincount(own[listed], minlength=size)
    return listed & ~troubled[own] & ~_troubled_leaders(facts, unlisted, missing)


def throttle_rates(facts: Facts, missing: Missing) -> list[dict[str, int]]:
    """Rates that hold back each missing replica; empty where none does."""
    throttles = facts.throttles
    topics, of_lists = facts.snapshot.strings("topic"), throttles.topics
    named = {code for code, name in enumerate(topics.dictionary) if name in of_lists} if of_lists else ()
    codes = topics.codes[missing.rows]
    found: list[dict[str, int]] = [{} for _ in range(len(missing))]
    numbers = facts.snapshot.integers("partition").values
    for place in np.flatnonzero(np.isin(codes, sorted(named))).tolist():
        leader = int(missing.leaders[place])
        topic, partition = topics.dictionary[codes[place]], int(numbers[missing.rows[place]])
        found[place] = throttles.rates(topic, partition, leader, int(missing.brokers[place]))
    return found


def _troubled_leaders(facts: Facts, unlisted: Missing, missing: Missing) -> Mask:
    """Marks missing replicas whose leader has two or more followers out in unlisted partitions."""
    pairs = np.unique(facts.index(unlisted.leaders) * len(facts.broker_ids) + facts.index(unlisted.brokers))
    followers = np.bincount(pairs // max(1, len(facts.broker_ids)), minlength=len(facts.broker_ids))
    known = missing.leaders >= 0
    troubled = np.zeros(len(missing), dtype=np.bool_)
    troubled[known] = followers[facts.index(missing.leaders[known])] >= 2
    return troubled


DOWN_RULES: tuple[tuple[CauseKind, Rule], ...] = (
    (CauseKind.BROKER_FENCED, broker_fenced),
    (CauseKind.BROKER_GONE, broker_gone),
    (CauseKind.LOG_DIRECTORY_OFFLINE, log_directory_offline),
    (CauseKind.REPLICA_OFFLINE, replica_offline),
)
"""Rules that hold for a replica in sync as well: nobody can read from it or write to it."""

ROW_RULES: tuple[tuple[CauseKind, Rule], ...] = (
    *DOWN_RULES,
    (CauseKind.REASSIGNMENT, reassignment),
    (CauseKind.NO_LEADER, no_leader),
)
"""Rules that look at the partition of a replica and at the state of brokers, not at other partitions."""

STATE_RULES: tuple[tuple[CauseKind, Rule], ...] = (*ROW_RULES, (CauseKind.THROTTLE, throttle))


def has_leader(missing: Missing) -> Mask:
    """Missing replicas of partitions that are led by a known broker."""
    known: Mask = (missing.leaders != NO_LEADER) & (missing.leaders != LEADER_NOT_KNOWN)
    return known
