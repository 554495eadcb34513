"""The smallest set of causes, ranked, that explains why partitions are under-replicated.

Causes with one origin count as one: a whole rack whose brokers are gone, a broker that is slow both as leader and as
follower, a throttle wherever it applies. A replica whose cause is not singled out is explained by any cause that is not
ruled out for it; where there are several smallest sets, all are shown and none is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from kreplica.health.causes.cause import KINDS, UNKNOWN, CauseKind
from kreplica.health.causes.explain import Explanation
from kreplica.health.causes.facts import Facts
from kreplica.health.causes.set_cover import Cover, smallest_covers
from kreplica.model.tables.columns import Indices, Integers, Mask

RACK_GONE = "rack-gone"
SLOW_BROKER = "slow-broker"
_GONE = (CauseKind.BROKER_FENCED, CauseKind.BROKER_GONE)
_SLOW = (CauseKind.SLOW_LEADER, CauseKind.SLOW_FOLLOWER)


class Key(NamedTuple):
    """Identity of a cause: causes with equal keys count as one.

    Args:
        kind: Value of a CauseKind, RACK_GONE or SLOW_BROKER.
        broker: The broker it concerns; None for a rack and for throttles.
        rack: Of a rack that is gone.
        leader: Of one leader-to-follower pair.
    """

    kind: str
    broker: int | None = None
    rack: str | None = None
    leader: int | None = None


@dataclass(frozen=True, slots=True)
class Culprit:
    """One cause and what it explains.

    Args:
        key: What it is.
        brokers: The brokers it concerns.
        others: The other side: followers of a slow leader, leaders of a slow follower.
        partitions: Number of partitions of which it explains at least one missing replica.
        failing: Number of these in which acks=all writes fail.
        certain: True if the facts single it out; otherwise it is only the simplest explanation left.
        since: When the broker was last heard of, ISO 8601; None if not known.
        evidence: The facts behind it.
    """

    key: Key
    brokers: tuple[int, ...]
    others: tuple[int, ...]
    partitions: int
    failing: int
    certain: bool
    since: str | None = None
    evidence: Mapping[str, object] = field(default_factory=dict)

    def as_row(self) -> dict[str, object]:
        """The form of the entries of ``summary.causes``."""
        return {
            "kind": self.key.kind,
            "broker": self.key.broker,
            "brokers": list(self.brokers),
            "rack": self.key.rack,
            "leader": self.key.leader,
            "others": list(self.others),
            "partitions": self.partitions,
            "failing": self.failing,
            "certain": self.certain,
            "since": self.since,
            "evidence": dict(self.evidence),
        }


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """Partitions whose cause the facts do not single out.

    Args:
        partitions: How many.
        choices: The smallest sets, each of which would be enough; a single one is the simplest and no more proven.
            Empty where nothing is left that the facts do not rule out.
        every_choice: Whether all of them are there.
        read: What to read next.
    """

    partitions: int
    choices: tuple[tuple[Key, ...], ...]
    every_choice: bool
    read: str

    def as_row(self) -> dict[str, object]:
        """The form of the entries of ``summary.causes_open``."""
        return {
            "partitions": self.partitions,
            "choices": [[key._asdict() for key in choice] for choice in self.choices],
            "every_choice": self.every_choice,
            "read": self.read,
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """The smallest set of causes.

    Args:
        culprits: Causes that are singled out, the worst first, brokers that appear to be gone among them.
        open: Partitions whose cause is still open.
        smallest: True if no smaller set explains as much.
        at_least: Fewest causes that are needed.
    """

    culprits: tuple[Culprit, ...]
    open: tuple[OpenQuestion, ...]
    smallest: bool
    at_least: int


def find_culprits(why: Explanation, rows: Indices) -> Verdict:
    """Explains the given partitions by as few causes as possible.

    A replica that is being added does not explain why a partition is under-replicated, which its originals decide; it
    counts for partitions that are not.

    Args:
        why: The causes of the cluster.
        rows: Partitions, by their rows in it.
    """
    looked_at = np.zeros(len(why.facts.leaders), dtype=np.bool_)
    looked_at[rows] = True
    missing = why.missing
    wanted = looked_at[missing.rows]
    added = np.flatnonzero(wanted & missing.adding)
    if len(added):  # otherwise nobody has to find out what all partitions of the cluster are affected by
        wanted[added] = ~why.affected[missing.rows[added]]
    places = np.flatnonzero(wanted)
    return _verdict(_Case(why, places)) if len(places) else Verdict((), (), True, 0)


class _Case:
    """The missing replicas to explain, grouped by their keys."""

    def __init__(self, why: Explanation, places: Indices) -> None:
        self.why = why
        self.places = places
        self.keys: list[Key] = []
        self._numbers: dict[Key, int] = {}
        self._merger = _Merger(why)
        missing = why.missing
        codes = why.found.codes[places].astype(np.int64)
        size = len(why.facts.broker_ids)
        # Who leads says nothing where the broker itself is gone; where nobody leads, who is waited for counts.
        others = missing.leaders[places].copy()
        others[np.isin(codes, [KINDS.index(kind) for kind in _GONE])] = -1
        leaderless = np.flatnonzero(codes == KINDS.index(CauseKind.NO_LEADER))
        others[leaderless] = [int(str(why.details[place]["waits_for"])) for place in places[leaderless].tolist()]
        led = np.where(others >= 0, why.facts.index(others), size)
        packed = ((codes + 1) * size + why.facts.index(missing.brokers[places])) * (size + 1) + led
        _, first, self.group_of = np.unique(packed, return_index=True, return_inverse=True)
        self.groups = [self._keys_of(int(places[place])) for place in first]
        self.examples: Integers = places[first]
        self.groups_of: list[list[int]] = [[] for _ in self.keys]
        for number, keys in enumerate(self.groups):
            for cause in keys:
                self.groups_of[cause].append(number)
        # Rows of the partitions, those of a group side by side.
        self._rows = why.missing.rows[places[np.argsort(self.group_of, kind="stable")]]
        self._ends = np.cumsum(np.bincount(self.group_of, minlength=len(self.groups)))

    def _keys_of(self, place: int) -> frozenset[int]:
        return frozenset(self._number(key) for key in self._merger.keys(place))

    def _number(self, key: Key) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.keys)
            self.keys.append(key)
        return self._numbers[key]

    def is_settled(self, cause: int) -> bool:
        """True if the facts single the cause out for some replica, or its broker appears to be gone."""
        codes = self.why.found.codes
        proven = any(codes[self.examples[number]] != UNKNOWN for number in self.groups_of[cause])
        return proven or self.keys[cause].kind == CauseKind.BROKER_GONE.value

    def partitions_of(self, groups: Sequence[int]) -> Indices:
        """Rows of the partitions with a missing replica of one of these kinds."""
        ends = self._ends[groups]
        begins = np.where(np.asarray(groups) > 0, self._ends[np.asarray(groups) - 1], 0)
        parts = [self._rows[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
        return np.unique(np.concatenate(parts))


class _Merger:
    """Decides which causes count as one."""

    def __init__(self, why: Explanation) -> None:
        self.why = why
        self.racks_gone = racks_gone(why.facts)
        codes, missing = why.found.codes, why.missing
        leader, follower = (codes == KINDS.index(kind) for kind in _SLOW)
        self.slow_both = set(missing.leaders[leader].tolist()) & set(missing.brokers[follower].tolist())

    def keys(self, place: int) -> Iterator[Key]:
        """Keys that explain one missing replica: its one cause, or all that are not ruled out."""
        why = self.why
        broker, leader = int(why.missing.brokers[place]), int(why.missing.leaders[place])
        if why.found.codes[place] != UNKNOWN:
            yield self.key(KINDS[why.found.codes[place]], broker, leader, place)
            return
        for kind in why.candidates(place):
            yield self.key(kind, broker, leader, place)

    def key(self, kind: CauseKind, broker: int, leader: int, place: int) -> Key:
        """The key of a cause."""
        if kind is CauseKind.NO_LEADER:
            broker = int(str(self.why.details[place]["waits_for"]))
            kind = self._state_of(broker)
        if kind in _GONE and broker in self.racks_gone:
            return Key(RACK_GONE, rack=self.racks_gone[broker])
        if kind is CauseKind.THROTTLE:
            return Key(kind.value)
        if kind is CauseKind.LEADER_TO_FOLLOWER:
            return Key(kind.value, broker, leader=leader)
        own = leader if kind is CauseKind.SLOW_LEADER else broker
        return Key(SLOW_BROKER if kind in _SLOW and own in self.slow_both else kind.value, own)

    def _state_of(self, broker: int) -> CauseKind:
        facts = self.why.facts
        place = int(np.searchsorted(facts.broker_ids, broker))
        if facts.fenced[place]:
            return CauseKind.BROKER_FENCED
        if facts.gone[place]:
            return CauseKind.BROKER_GONE
        return CauseKind.LOG_DIRECTORY_OFFLINE if broker in facts.offline_directories else CauseKind.REPLICA_OFFLINE


def racks_gone(facts: Facts) -> dict[int, str]:
    """The rack of every broker whose whole rack, of two brokers or more, is gone."""
    racks = facts.snapshot.racks
    lost = set(facts.broker_ids[facts.fenced | facts.gone].tolist())
    members: dict[str, set[int]] = {}
    for broker, rack in racks.items():
        members.setdefault(rack, set()).add(broker)
    whole = {rack for rack, brokers in members.items() if len(brokers) > 1 and brokers <= lost}
    return {broker: rack for broker, rack in racks.items() if rack in whole}


def _verdict(case: _Case) -> Verdict:
    covers = smallest_covers(keys for keys in case.groups if keys)
    settled = {cause for cover in covers for cause in frozenset.intersection(*cover.choices) if case.is_settled(cause)}
    culprits = [_culprit(case, cause) for cause in settled]
    ranked = sorted(culprits, key=lambda one: (-one.failing, -one.partitions, one.key.kind, one.brokers))
    return Verdict(
        tuple(ranked),
        tuple(_open_questions(case, covers, settled)),
        all(cover.minimal for cover in covers),
        sum(cover.at_least for cover in covers),
    )


def _open_questions(case: _Case, covers: Sequence[Cover], settled: set[int]) -> Iterator[OpenQuestion]:
    for cover in covers:
        left_over = dict.fromkeys(tuple(sorted(choice - settled)) for choice in cover.choices)
        choices = tuple(tuple(case.keys[cause] for cause in choice) for choice in left_over)
        causes = frozenset().union(*cover.choices)
        near = {number for cause in causes for number in case.groups_of[cause]}
        left = [number for number in sorted(near) if not case.groups[number] & settled]
        if left:
            yield _open_question(case, left, choices, every_choice=cover.every_tie)
    without = [number for number, keys in enumerate(case.groups) if not keys]
    if without:
        yield _open_question(case, without, (), every_choice=True)


def _open_question(
    case: _Case, groups: list[int], choices: tuple[tuple[Key, ...], ...], *, every_choice: bool
) -> OpenQuestion:
    reads = dict.fromkeys(case.why.unknown(int(case.examples[group])).read for group in groups)
    read = next(iter(reads)) if len(reads) == 1 else _several(case, groups)
    return OpenQuestion(len(case.partitions_of(groups)), choices, every_choice, read)


def _several(case: _Case, groups: list[int]) -> str:
    brokers = sorted({int(case.why.missing.brokers[case.examples[group]]) for group in groups})
    logs = f"the server.log of brokers {', '.join(map(str, brokers))}"
    return f"--measure 10s, then {logs}" if case.why.can_measure else logs


def _culprit(case: _Case, cause: int) -> Culprit:
    key, why = case.keys[cause], case.why
    groups = case.groups_of[cause]
    rows = case.partitions_of(groups)
    shown = [int(case.examples[group]) for group in groups if why.found.codes[case.examples[group]] != UNKNOWN]
    found = Culprit(
        key,
        (),
        (),
        partitions=len(rows),
        failing=int(why.failing[rows].sum()),
        certain=bool(shown),
    )
    return _with_evidence(case, found, shown or [int(case.examples[group]) for group in groups])


def _with_evidence(case: _Case, culprit: Culprit, places: Sequence[int]) -> Culprit:
    key, why = culprit.key, case.why
    brokers = {int(why.missing.brokers[place]) for place in places}
    leaders = {int(why.missing.leaders[place]) for place in places} - {-1, -2}
    if key.kind == RACK_GONE:
        own = {broker for broker, rack in why.facts.snapshot.racks.items() if rack == key.rack}
        return replace(culprit, brokers=tuple(sorted(own)))
    if key.kind == CauseKind.THROTTLE.value:
        return replace(culprit, brokers=tuple(sorted(brokers)), others=tuple(sorted(leaders)), evidence=_throttle(case))
    assert key.broker is not None, "all others stand on one broker"
    others = (brokers | leaders) - {key.broker} if key.kind not in _ALONE else set[int]()
    gone = key.kind in {kind.value for kind in _GONE}
    return replace(
        culprit,
        brokers=(key.broker,),
        others=tuple(sorted(others)),
        since=why.facts.last_fetch.get(key.broker) if gone else None,
        evidence=_plain_evidence(case, key, places),
    )


_ALONE = frozenset(
    {
        CauseKind.BROKER_GONE.value,
        CauseKind.BROKER_FENCED.value,
        CauseKind.LOG_DIRECTORY_OFFLINE.value,
        CauseKind.REPLICA_OFFLINE.value,
        CauseKind.REASSIGNMENT.value,
        CauseKind.BROKER_OUT.value,
    }
)
"""Kinds whose other side (followers or leaders) is not worth naming."""


def _plain_evidence(case: _Case, key: Key, places: Sequence[int]) -> Mapping[str, object]:
    if key.kind == CauseKind.LOG_DIRECTORY_OFFLINE.value:
        return {"log_dirs": case.why.facts.offline_directories.get(key.broker or 0, [])}
    for place in places:
        if case.why.found.codes[place] != UNKNOWN and key.kind == KINDS[case.why.found.codes[place]].value:
            return case.why.cause(place).evidence
    return {}


def _throttle(case: _Case) -> Mapping[str, object]:
    """Topics, rates and whether anything of these topics is being reassigned, over all throttled replicas."""
    why, topics = case.why, case.why.facts.snapshot.strings("topic")
    code = KINDS.index(CauseKind.THROTTLE)
    throttled = [place for place in case.places.tolist() if why.found.codes[place] == code]
    details = [why.details[place] for place in throttled]
    sides = ("leader_rate", "follower_rate")
    rates = [int(str(detail[side])) for detail in details for side in sides if side in detail]
    named = sorted({topics[int(why.missing.rows[place])] or "" for place in throttled})
    moving = _moving_topics(why.facts)
    return {
        "topics": named,
        "slowest_rate": min(rates),
        "fastest_rate": max(rates),
        "left_behind": not any(name in moving for name in named),
    }


def _moving_topics(facts: Facts) -> set[str | None]:
    topics = facts.snapshot.strings("topic")
    moving: Mask = np.zeros(len(topics), dtype=np.bool_)
    for name in ("adding", "removing"):
        lists = facts.snapshot.lists(name)
        moving |= lists.lengths() > 0
    return {topics[row] for row in np.flatnonzero(moving).tolist()}
