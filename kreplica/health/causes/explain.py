"""Causes of every missing replica of a snapshot: all rules in their order, and what they leave open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from kreplica.health.causes.cause import KINDS, LEADER_MATTERS, UNKNOWN, Cause, CauseKind, NotKnown
from kreplica.health.causes.facts import NO_LEADER, Facts, Missing, elements_of
from kreplica.health.causes.lag_rules import Lags, broker_out, candidates, classify, in_question
from kreplica.health.causes.state_rules import DOWN_RULES, ROW_RULES, STATE_RULES, Rule, throttle_rates, waiting_for
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.partitions import MASKED, OFFLINE, REASSIGNING, UNDER_MIN_ISR_BROKER, UNDER_REPLICATED
from kreplica.model.tables.columns import Indices, Integers, Mask

Codes = npt.NDArray[np.int8]

_CODES = {kind: code for code, kind in enumerate(KINDS)}
_THROTTLED = (_CODES[CauseKind.THROTTLE], _CODES[CauseKind.REASSIGNMENT])
_OF_ROWS = [_CODES[kind] for kind, _ in ROW_RULES]
_LEADER_MATTERS = np.array([kind in LEADER_MATTERS for kind in KINDS] + [True])


@dataclass(frozen=True, slots=True, eq=False)
class Explained:
    """Results of the rules.

    Args:
        codes: For each missing replica the position of its kind in KINDS, UNKNOWN where no rule singles one out.
        compared: Which of the replicas without a cause were compared with others.
        lags: That comparison; None if there was nothing to compare.
    """

    codes: Codes
    compared: Mask
    lags: Lags | None


class Explanation:
    """The causes of one snapshot; partitions are named by their rows in it."""

    def __init__(self, evaluator: Evaluator, *, can_measure: bool = False) -> None:
        self._evaluator = evaluator
        self.can_measure = can_measure
        self.facts = Facts(evaluator)
        self.missing = self.facts.missing
        self.found = _explain(self.facts)

    @cached_property
    def affected(self) -> Mask:
        """By partition: under-replicated, openly or masked."""
        under = self._evaluator.boolean(UNDER_REPLICATED.expression).is_true()
        return under | self._evaluator.boolean(MASKED.expression).is_true()

    @cached_property
    def failing(self) -> Mask:
        """By partition: acks=all writes fail, for want of a leader or of in-sync replicas."""
        short = self._evaluator.boolean(UNDER_MIN_ISR_BROKER.expression).is_true()
        return short | self._evaluator.boolean(OFFLINE.expression).is_true()

    @property
    def needs_no_others(self) -> bool:
        """True if every cause is one that a partition and the state of brokers show, whatever other partitions do."""
        return bool(np.isin(self.found.codes, _OF_ROWS).all())

    def causes(self, rows: Indices) -> list[list[dict[str, object]]]:
        """The ``causes`` field of the given partitions; equal causes are one object."""
        return self._gathered(rows, self.found.codes != UNKNOWN, self._cause_row)

    def not_known(self, rows: Indices) -> list[list[dict[str, object]]]:
        """The ``not_known`` field of the given partitions."""
        return self._gathered(rows, self.found.codes == UNKNOWN, self._not_known_row)

    def down_in_sync(self, rows: Indices) -> list[list[tuple[CauseKind, int]]]:
        """Kind of cause and broker of each in-sync replica of the given partitions that serves nobody.

        They are no missing replicas: the last member of an ISR stays in it when its broker dies, and leads no more.
        """
        isr = self.facts.isr.take(rows)
        number = isr.row_numbers()
        places, offline = rows[number], self._evaluator.snapshot.lists("offline_replicas").take(rows)
        every = np.zeros(len(places), np.bool_)
        members = Missing(places, isr.values, self.facts.leaders[places], every, elements_of(isr, offline))
        found: list[list[tuple[CauseKind, int]]] = [[] for _ in range(len(rows))]
        for place, code in enumerate(_state_codes(self.facts, members, DOWN_RULES).tolist()):
            if code != UNKNOWN:
                found[number[place]].append((KINDS[code], int(isr.values[place])))
        return found

    def _gathered(self, rows: Indices, wanted: Mask, make: Any) -> list[list[dict[str, object]]]:
        gathered: list[list[dict[str, object]]] = [[] for _ in range(len(rows))]
        if not len(self.missing):
            return gathered
        position = np.full(len(self.facts.leaders), -1, dtype=np.int64)
        position[rows] = np.arange(len(rows))
        targets = position[self.missing.rows]
        places = np.flatnonzero(wanted & (targets >= 0))
        for place, target, label in zip(
            places.tolist(), targets[places].tolist(), self._labels[places].tolist(), strict=True
        ):
            gathered[target].append(make(label, place))
        return gathered

    @cached_property
    def _labels(self) -> Integers:
        """Equal for replicas whose cause is one and the same object: same kind, broker, leader and rates."""
        missing, facts = self.missing, self.facts
        leaders = np.where(_LEADER_MATTERS[self.found.codes], missing.leaders, NO_LEADER)
        rates = np.zeros(len(missing), dtype=np.int64)
        known: dict[object, int] = {}
        for place, detail in self.details.items():
            rates[place] = 1 + known.setdefault(tuple(sorted(detail.items())), len(known))
        size = len(facts.broker_ids)
        packed = np.zeros(len(missing), dtype=np.int64)
        for part, limit in ((self.found.codes + 1, len(KINDS) + 1), (facts.index(missing.brokers), size)):
            packed = packed * limit + part
        packed = (packed * (int(leaders.max(initial=0)) + 3) + leaders + 2) * (len(known) + 1) + rates
        return np.unique(packed, return_inverse=True)[1]

    @cached_property
    def details(self) -> Mapping[int, Mapping[str, object]]:
        """Facts about single replicas, by index: throttle rates, the broker that a leaderless partition waits for."""
        missing = self.missing
        found: dict[int, dict[str, object]] = {}
        throttled = np.isin(self.found.codes, _THROTTLED)
        moving = self._evaluator.boolean(REASSIGNING.expression).is_true()
        for place, rates in zip(
            np.flatnonzero(throttled).tolist(), throttle_rates(self.facts, missing.take(throttled)), strict=True
        ):
            if rates:
                found[place] = {**rates, "reassigning": bool(moving[missing.rows[place]])}
        waiting = self.found.codes == _CODES[CauseKind.NO_LEADER]
        held = waiting_for(self.facts, missing.take(waiting))
        places = np.flatnonzero(waiting).tolist()
        return found | {place: {"waits_for": broker} for place, broker in zip(places, held, strict=True)}

    @cached_property
    def _cause_rows(self) -> dict[int, dict[str, object]]:
        return {}

    def _cause_row(self, label: int, place: int) -> dict[str, object]:
        if label not in self._cause_rows:
            self._cause_rows[label] = self.cause(place).as_row()
        return self._cause_rows[label]

    def _not_known_row(self, label: int, place: int) -> dict[str, object]:
        if label not in self._cause_rows:
            self._cause_rows[label] = self.unknown(place).as_row()
        return self._cause_rows[label]

    def cause(self, place: int) -> Cause:
        """The cause of one missing replica, by its index among the missing ones."""
        kind = KINDS[self.found.codes[place]]
        broker, leader = int(self.missing.brokers[place]), int(self.missing.leaders[place])
        gone = kind in (CauseKind.BROKER_FENCED, CauseKind.BROKER_GONE)
        return Cause(
            kind,
            broker,
            leader if kind in LEADER_MATTERS else None,
            self.facts.last_fetch.get(broker) if gone else None,
            self._evidence(kind, broker, leader) | dict(self.details.get(place, {})),
        )

    def _evidence(self, kind: CauseKind, broker: int, leader: int) -> dict[str, object]:
        if kind is CauseKind.LOG_DIRECTORY_OFFLINE:
            return {"log_dirs": self.facts.offline_directories[broker]}
        lags = self.found.lags
        if lags is None or kind not in _COMPARED:
            return {}
        return _COMPARED[kind](self, lags, self._index(leader), self._index(broker))

    def _out_everywhere(self, _: Lags, __: int, follower: int) -> dict[str, object]:
        return {"partitions": int(self._missing_by_broker[follower]), "leading": 0}

    def _slow_follower(self, lags: Lags, _: int, follower: int) -> dict[str, object]:
        leaders = self.facts.broker_ids[lags.out[:, follower] > 0].tolist()
        out, follows = int(lags.out_of_follower[follower]), int(lags.followed_by[follower])
        return {"leaders": leaders, "partitions": out, "of": follows}

    def _slow_leader(self, lags: Lags, leader: int, _: int) -> dict[str, object]:
        followers = self.facts.broker_ids[lags.out[leader] > 0].tolist()
        return {"followers": followers, "partitions": int(lags.partitions_out[leader])}

    def _one_pair(self, lags: Lags, leader: int, follower: int) -> dict[str, object]:
        return {"partitions": int(lags.out[leader, follower]), "of": int(lags.follows[leader, follower])}

    @cached_property
    def _missing_by_broker(self) -> Integers:
        return np.bincount(self.facts.index(self.missing.brokers), minlength=len(self.facts.broker_ids))

    def _index(self, broker: int) -> int:
        return int(np.searchsorted(self.facts.broker_ids, broker))

    def unknown(self, place: int) -> NotKnown:
        """Describes a missing replica without a cause: the causes left open, and what to read next."""
        broker, leader = int(self.missing.brokers[place]), int(self.missing.leaders[place])
        possible = self.candidates(place)
        return NotKnown(broker, leader if leader >= 0 else None, possible, self._read_next(broker, leader, possible))

    def candidates(self, place: int) -> tuple[CauseKind, ...]:
        """Kinds that the facts do not rule out; none where there was nothing to compare."""
        if self.found.compared[place]:
            leader, follower = int(self.missing.leaders[place]), int(self.missing.brokers[place])
            return self._candidates(self._index(leader), self._index(follower))
        own = self._index(int(self.missing.brokers[place]))
        return (CauseKind.BROKER_GONE,) if not self.facts.responsive[own] and not self.facts.alive[own] else ()

    @cached_property
    def _candidates(self) -> Callable[[int, int], tuple[CauseKind, ...]]:
        assert self.found.lags is not None, "what was compared has its comparison"
        return candidates(self.found.lags)

    def _read_next(self, broker: int, leader: int, possible: Sequence[CauseKind]) -> str:
        if CauseKind.BROKER_GONE in possible:
            return "the cluster itself: this source does not tell which brokers live"
        if leader < 0:
            return "the controller's log"
        logs = f"the server.log of brokers {leader} and {broker}" if possible else f"broker {broker}'s server.log"
        return f"--measure 10s, then {logs}" if self.can_measure else logs


_COMPARED: Mapping[CauseKind, Callable[[Explanation, Lags, int, int], dict[str, object]]] = {
    CauseKind.BROKER_OUT: Explanation._out_everywhere,
    CauseKind.SLOW_FOLLOWER: Explanation._slow_follower,
    CauseKind.SLOW_LEADER: Explanation._slow_leader,
    CauseKind.LEADER_TO_FOLLOWER: Explanation._one_pair,
}


def explain(evaluator: Evaluator, *, can_measure: bool = False) -> Explanation:
    """Looks for the cause of every missing replica of a snapshot.

    Args:
        evaluator: Over all partitions of the cluster: what others do is part of the evidence.
        can_measure: Whether the cluster can be asked again, which is then the first thing to do about open questions.
    """
    return Explanation(evaluator, can_measure=can_measure)


def _explain(facts: Facts) -> Explained:
    missing = facts.missing
    codes = _state_codes(facts, missing, STATE_RULES)
    compared = (codes == UNKNOWN) & in_question(facts, missing)
    return Explained(codes, *_compare(facts, missing, codes, compared))


def _state_codes(facts: Facts, replicas: Missing, rules: Sequence[tuple[CauseKind, Rule]]) -> Codes:
    """For each replica the kind of the first rule that holds, by its position in KINDS; else UNKNOWN."""
    codes = np.full(len(replicas), UNKNOWN, dtype=np.int8)
    for kind, rule in rules:
        left = codes == UNKNOWN
        if left.any():
            codes[np.flatnonzero(left)[rule(facts, replicas.take(left))]] = _CODES[kind]
    return codes


def _compare(facts: Facts, missing: Missing, codes: Codes, compared: Mask) -> tuple[Mask, Lags | None]:
    """Fills in the causes found by comparison: brokers out of every ISR first, as they would hide other causes."""
    if not compared.any():
        return compared, None
    first = Lags(facts, missing.take(compared))
    apart = broker_out(first)[first.followers]
    codes[np.flatnonzero(compared)[apart]] = _CODES[CauseKind.BROKER_OUT]
    compared = compared.copy()
    compared[np.flatnonzero(compared)[apart]] = False
    asked = missing.take(compared)
    lags, listed = Lags(facts, asked), np.array([bool(rates) for rates in throttle_rates(facts, asked)], dtype=np.bool_)
    evidence = Lags(facts, asked.take(~listed)) if listed.any() else lags
    for place, kind in zip(np.flatnonzero(compared).tolist(), classify(lags, evidence), strict=True):
        if kind is not None:
            codes[place] = _CODES[kind]
    return compared & (codes == UNKNOWN), lags
