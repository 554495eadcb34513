"""Causes that only a comparison shows: a live replica on a live broker is missing, so it is compared with others.

What is compared: for every leader L and follower F, how many partitions that L leads have F out of sync (``out``) and
how many F follows in all (``follows``). Both count only partitions of busy topics, those in which such a replica is
missing: where nothing is written a follower that has stopped stays in sync (ReplicaState.isCaughtUp compares log end
offsets first), so that idle partitions prove nothing. Partitions that another rule explains are left out of both.

A rule names a cause only where there is a contrast: another broker in the same role that keeps up. Without one the
kinds that are not ruled out are candidates, and the cause is not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from kreplica.health.causes.cause import CauseKind
from kreplica.health.causes.facts import Facts, Missing
from kreplica.health.causes.state_rules import FEW, has_leader
from kreplica.model.tables.columns import Integers, Mask

LEAST = 2
"""Fewest partitions, leaders or followers that make a pattern."""

MOST = 0.5
"""Share of the replicas in question from which all of them count as lagging, not only some."""

MANY, PART = 5, 0.25
"""Number of partitions that, as this share of all, are too many to be a few busy ones."""

CHANCE = 0.001
"""Greatest probability with which troubles of single partitions may produce a pattern that still counts as one."""


class Lags:
    """The two counts as matrices, leaders down and followers across, by broker index.

    Args:
        facts: Of the snapshot.
        lagging: The missing replicas in question: on live brokers, not offline, not being added, not throttled.
    """

    def __init__(self, facts: Facts, lagging: Missing) -> None:
        self.facts = facts
        self.lagging = lagging
        self.size = len(facts.broker_ids)
        self.leaders, self.followers = facts.index(lagging.leaders), facts.index(lagging.brokers)
        self.out = self._matrix(self.leaders, self.followers)
        self.follows = self.out + self._in_sync()
        self.out_of_leader, self.out_of_follower = self.out.sum(axis=1), self.out.sum(axis=0)
        self.led_by, self.followed_by = self.follows.sum(axis=1), self.follows.sum(axis=0)

    def _in_sync(self) -> Integers:
        topics = self.facts.snapshot.strings("topic").codes
        rows = np.flatnonzero(np.isin(topics, np.unique(topics[self.lagging.rows])) & (self.facts.leaders >= 0))
        isr = self.facts.isr.take(rows)
        leaders = self.facts.leaders[rows][isr.row_numbers()]
        others = isr.values != leaders
        return self._matrix(self.facts.index(leaders[others]), self.facts.index(isr.values[others]))

    def _matrix(self, leaders: Integers, followers: Integers) -> Integers:
        counts = np.bincount(leaders * self.size + followers, minlength=self.size * self.size)
        return counts.reshape(self.size, self.size)

    @property
    def keeps_up_elsewhere(self) -> Mask:
        """By leader and follower: the follower keeps up with other leaders, in LEAST partitions at least."""
        follows, out = self.followed_by[None, :] - self.follows, self.out_of_follower[None, :] - self.out
        found: Mask = (follows >= LEAST) & (out <= FEW * follows)
        return found

    @property
    def serves_others(self) -> Mask:
        """By leader and follower: other followers keep up with the leader, in LEAST partitions at least."""
        led, out = self.led_by[:, None] - self.follows, self.out_of_leader[:, None] - self.out
        found: Mask = (led >= LEAST) & (out <= FEW * led)
        return found

    @property
    def partitions_out(self) -> Integers:
        """By leader: number of its partitions that miss a follower."""
        rows = np.unique(self.lagging.rows, return_index=True)[1]
        return np.bincount(self.leaders[rows], minlength=self.size)


def broker_out(lags: Lags) -> Mask:
    """By follower: alive, and yet in no ISR and leading nothing, of any topic, while others keep up with its leaders.

    Brokers leave every ISR when they are fenced or shut down in order, and come back into each one as it has been
    copied: this broker starts, stops, is cut off from every other, or stands still where everything is written to.
    """
    facts = lags.facts
    apart = facts.alive & (facts.in_isr == 0) & (facts.leads == 0) & (lags.out_of_follower >= LEAST)
    found: Mask = apart & _others_keep_up(lags)
    return _unlikely_for_followers(lags, found)


def slow_leader(lags: Lags) -> Mask:
    """By leader: several followers are out, each of which keeps up with other leaders, in much of what it leads.

    A leader whose own broker is slow does not answer its followers in time and takes them out of the ISR
    (Partition.maybeShrinkIsr), however well these keep up with everyone else.
    """
    out = lags.out > 0
    several = out.sum(axis=1) >= LEAST
    elsewhere = (~out | lags.keeps_up_elsewhere).all(axis=1)
    followers = out.sum(axis=1) >= MOST * (lags.follows > 0).sum(axis=1)
    affected, led = lags.partitions_out, _led_in_busy_topics(lags)
    most = (affected >= LEAST) & (affected >= MOST * led)
    many = (affected >= MANY) & (affected >= PART * led)
    contrasted = _in_topics_well_elsewhere(lags)
    found: Mask = several & elsewhere & followers & (most | many) & (contrasted >= MOST * affected)
    leaders = int((lags.led_by > 0).sum())
    for leader in np.flatnonzero(found):
        others = len(np.unique(lags.lagging.rows[lags.followers != leader]))
        found[leader] = hardly_by_chance(int(contrasted[leader]), others, leaders)
    return found


def slow_follower(lags: Lags) -> Mask:
    """By follower: out under several leaders, more than MOST of those it follows, whose other followers keep up.

    Where others of its rack also lag behind the same leaders of other racks, the network between the racks may be slow,
    and no cause is named.
    """
    out, follows = lags.out > 0, lags.follows > 0
    leaders = out.sum(axis=0)
    several = (leaders >= LEAST) & (leaders > MOST * follows.sum(axis=0))
    share = lags.out_of_follower >= MOST * lags.followed_by
    found: Mask = several & share & _others_keep_up(lags) & ~_rack_may_be_behind(lags)
    return _unlikely_for_followers(lags, found)


def _unlikely_for_followers(lags: Lags, found: Mask) -> Mask:
    """Followers that are out more often than troubles of single partitions would explain."""
    followers = int((lags.followed_by > 0).sum())
    for follower in np.flatnonzero(found):
        others = int((lags.leaders != follower).sum())
        found[follower] = hardly_by_chance(int(lags.out_of_follower[follower]), others, followers)
    return found


def leader_to_follower(lags: Lags, unclaimed: int) -> Mask:
    """By leader and follower: out in MOST partitions of this pair, while both keep up with everyone else.

    The way between the two brokers, or the follower's fetcher thread for this leader (AbstractFetcherManager).

    Args:
        lags: The comparison.
        unclaimed: How many of the replicas in question no other rule claims.
    """
    enough = (lags.out >= LEAST) & (lags.out >= MOST * lags.follows)
    found: Mask = enough & lags.keeps_up_elsewhere & lags.serves_others
    pairs = int((lags.follows > 0).sum())
    for leader, follower in np.argwhere(found).tolist():
        found[leader, follower] = hardly_by_chance(int(lags.out[leader, follower]), unclaimed, pairs)
    return found


def hardly_by_chance(count: int, total: int, places: int) -> bool:
    """True if ``count`` of ``total`` independent troubles are unlikely to meet at one of equally likely places.

    The expected number of places where that many meet is at most C(total, count) * places ** (1 - count).
    """
    choose = math.lgamma(total + 1) - math.lgamma(count + 1) - math.lgamma(max(0, total - count) + 1)
    return choose + (1 - count) * math.log(max(places, 1)) <= math.log(CHANCE)


def _others_keep_up(lags: Lags) -> Mask:
    """By follower: the other followers of the leaders it is out under keep up, in LEAST partitions at least.

    Followers that are themselves out of every ISR are no contrast, and none against it.
    """
    under = lags.out > 0
    facts = lags.facts
    apart = (facts.in_isr == 0) & (facts.leads == 0)
    out, follows = np.where(apart[None, :], 0, lags.out), np.where(apart[None, :], 0, lags.follows)
    others_out = (under * (out.sum(axis=1)[:, None] - out)).sum(axis=0)
    others = (under * (follows.sum(axis=1)[:, None] - follows)).sum(axis=0)
    found: Mask = (others >= LEAST) & (others_out <= FEW * others)
    return found


def _in_topics_well_elsewhere(lags: Lags) -> Integers:
    """By leader: how many of its partitions that miss a follower are of topics that are well under other leaders.

    If all partitions of a topic lag, or one broker leads them all, the topic may be too busy or its leader too slow.
    Where the leader itself lags as a follower, that points to the leader and not to the topic.
    """
    codes = lags.facts.snapshot.strings("topic").codes.astype(np.int64)
    rows, first = np.unique(lags.lagging.rows, return_index=True)
    leaders = lags.leaders[first]
    led = np.flatnonzero(np.isin(codes, np.unique(codes[rows])) & (lags.facts.leaders >= 0))
    pairs, affected = np.unique(codes[rows] * lags.size + leaders, return_counts=True)
    topics, own = pairs // lags.size, pairs % lags.size
    count = int(codes.max(initial=0)) + 1
    others = np.bincount(codes[led], minlength=count)[topics] - _at(
        pairs, codes[led], lags.facts.index(lags.facts.leaders[led]), lags
    )
    behind = codes[lags.lagging.rows]
    out = np.bincount(behind, minlength=count)[topics]
    for side in (lags.leaders, lags.followers):
        out = out - _at(pairs, behind, side, lags)
    well = (others >= LEAST) & (out <= FEW * others)
    return np.bincount(own, weights=affected * well, minlength=lags.size).astype(np.int64)


def _at(pairs: Integers, topics: Integers, brokers: Integers, lags: Lags) -> Integers:
    """Number of times that each pair of topic and broker index occurs; pairs are in order."""
    keys, counts = np.unique(topics * lags.size + brokers, return_counts=True)
    places = np.minimum(np.searchsorted(keys, pairs), len(keys) - 1)
    return np.where(keys[places] == pairs, counts[places], 0)


def _rack_may_be_behind(lags: Lags) -> Mask:
    """By follower: it is out under leaders of other racks, and its own rack does not keep up with these either.

    Brokers of its rack that keep up with the same leaders rule the way between the racks out.
    """
    racks = lags.facts.snapshot.racks
    names = [racks.get(broker) for broker in lags.facts.broker_ids.tolist()]
    same = np.array([[mine is not None and mine == other for mine in names] for other in names], dtype=np.bool_)
    mates = same & ~np.eye(lags.size, dtype=np.bool_)
    far = ((lags.out > 0) & ~same).T.astype(np.int64)
    follows, behind = ((far @ counts * mates).sum(axis=1) for counts in (lags.follows, lags.out))
    found: Mask = far.any(axis=1) & mates.any(axis=1) & ~((follows >= LEAST) & (behind <= FEW * follows))
    return found


def _led_in_busy_topics(lags: Lags) -> Integers:
    topics = lags.facts.snapshot.strings("topic").codes
    busy = np.isin(topics, np.unique(topics[lags.lagging.rows])) & (lags.facts.leaders >= 0)
    return np.bincount(lags.facts.index(lags.facts.leaders[busy]), minlength=lags.size)


def in_question(facts: Facts, missing: Missing) -> Mask:
    """Missing replicas that can be compared: a leader that takes part leads them, their own broker does, too."""
    led = has_leader(missing)
    known = led.copy()
    known[led] = facts.responsive[facts.index(missing.leaders[led])]
    own = facts.index(missing.brokers)
    found: Mask = known & (facts.responsive[own] | facts.alive[own]) & (missing.leaders != missing.brokers)
    return found


def classify(lags: Lags, evidence: Lags) -> list[CauseKind | None]:
    """For each replica in question the cause that the comparison singles out, None where none or several do.

    Brokers that are out of everything have been taken out before.

    Args:
        lags: Of the replicas that are asked about.
        evidence: Of those among them that no throttle may hold back: a pattern of throttled replicas is the throttle's.
    """
    leaders, followers = lags.leaders, lags.followers
    follower_slow, leader_slow = slow_follower(evidence), slow_leader(evidence)
    by_follower, by_leader = follower_slow[followers], leader_slow[leaders]
    claimed = follower_slow[evidence.followers] | leader_slow[evidence.leaders]
    by_pair = leader_to_follower(evidence, int((~claimed).sum()))[leaders, followers]
    # A broker that is slow in its other role is as likely the reason as the way between the two.
    by_pair &= ~(leader_slow[followers] | follower_slow[leaders])
    shown: list[tuple[CauseKind, Mask]] = [
        (CauseKind.SLOW_FOLLOWER, by_follower),
        (CauseKind.SLOW_LEADER, by_leader),
        (CauseKind.LEADER_TO_FOLLOWER, by_pair),
    ]
    claims = np.sum([mask for _, mask in shown], axis=0)
    found: list[CauseKind | None] = [None] * len(lags.lagging)
    for kind, mask in shown:
        for place in np.flatnonzero(mask & (claims == 1)).tolist():
            found[place] = kind
    return found


def candidates(lags: Lags) -> Callable[[int, int], tuple[CauseKind, ...]]:
    """Returns the kinds not ruled out, by index of leader and follower; none for a single odd partition."""
    elsewhere, others = lags.keeps_up_elsewhere, lags.serves_others
    facts = lags.facts
    apart = facts.alive & (facts.in_isr == 0) & (facts.leads == 0)
    few = (lags.out < LEAST) | (lags.out < MOST * lags.follows)

    def of(leader: int, follower: int) -> tuple[CauseKind, ...]:
        found = [] if others[leader, follower] else [CauseKind.SLOW_LEADER]
        if not elsewhere[leader, follower]:
            found.append(CauseKind.BROKER_OUT if apart[follower] else CauseKind.SLOW_FOLLOWER)
        if found or not few[leader, follower]:
            found.append(CauseKind.LEADER_TO_FOLLOWER)
        return tuple(found)

    return of
