"""Checks a plan from the snapshot, its targets and its certificate alone, without a planner and without a solver.

Everything is done again in the plainest way: partition by partition, in whole numbers of any size. What is wrong is
returned in sentences; an empty list means that the targets are legal, the values are theirs and the bounds hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from kreplica.model.snapshot import ClusterSnapshot
from kreplica.planner.reassignment.certificate import Bound, BoundKind, Certificate, Quantity

Key = tuple[str, int]
Targets = Mapping[Key, tuple[int, ...]]


class _Check:
    """One verification: the facts in the form that all checks share."""

    def __init__(self, snapshot: ClusterSnapshot, targets: Targets, certificate: Certificate) -> None:
        self.given, self.racks, self.sizes = certificate, snapshot.racks, _sizes(snapshot)
        self.before: dict[Key, tuple[int, ...]] = {}
        self.in_sync: dict[Key, set[int]] = {}
        for row in snapshot.partitions.rows():
            key: Any = (row["topic"], row["partition"])
            led: Any = row["leader"]
            live = led is None or (led >= 0 and snapshot.is_alive(led) is not False)
            if row["topic"] in certificate.topics and live and not (row["adding"] or row["removing"]):
                self.before[key] = tuple(row["replicas"])  # type: ignore[arg-type]
                in_sync: Any = set(row["isr"]) & set(row["replicas"])  # type: ignore[call-overload]
                self.in_sync[key] = in_sync or set(row["elr"] or ()) & set(self.before[key])  # type: ignore[call-overload]
        self.after = {key: targets.get(key, before) for key, before in self.before.items()}
        self.stuck, self.emptied = set(certificate.stuck), set(certificate.emptied)
        self.receivers, self.staying = set(certificate.receivers), set(certificate.staying)
        self.strange = [f"{key} is not free to change" for key in targets if key not in self.before]
        dead = [one for one in certificate.receivers if snapshot.is_alive(one) is False]
        self.strange += [f"broker {one} is dead and receives" for one in dead]
        self.spreads = {key: self.spread(key) for key in self.before}

    def factor(self, key: Key) -> int:
        """Replicas of a partition afterwards."""
        return len(self.before[key]) if key in self.stuck else self.given.replication_factor or len(self.before[key])

    def keepable(self, key: Key) -> list[int]:
        """Replicas that may stay."""
        return [one for one in self.before[key] if key in self.stuck or one not in self.emptied]

    def fixed(self, key: Key) -> set[int]:
        """Replicas that have to stay: of the last one in sync, of dead and excluded brokers, of what is stuck."""
        before, alone = self.before[key], self.in_sync[key]
        if key in self.stuck:
            return set(before)
        held = self.staying if self.factor(key) >= len(before) else set()
        last = alone if len(before) > 1 and len(alone) == 1 else set()
        return {one for one in self.keepable(key) if one in held or one in last}

    def spread(self, key: Key) -> dict[str, tuple[int, int]]:
        """Fewest and most replicas in each rack: as even as the room allows, or no worse than now."""
        kept, factor = self.keepable(key), self.factor(key)
        usable = set(kept) | (set() if key in self.stuck else self.receivers)
        room = Counter(self.rack(one) for one in usable)
        level = max(n for n in range(factor + 1) if sum(min(free, n) for free in room.values()) <= factor)
        rest = factor > sum(min(free, level) for free in room.values())
        before, fixed = Counter(map(self.rack, kept)), Counter(map(self.rack, self.fixed(key)))
        even = {rack: (min(free, level), min(free, level + rest)) for rack, free in room.items()}
        if not self.given.rack_aware and factor >= len(self.before[key]):
            even = {rack: (min(low, before[rack]), max(high, before[rack])) for rack, (low, high) in even.items()}
        forced = any(fixed[rack] > low for rack, (low, _) in even.items())
        return {rack: (fixed[rack] if forced else low, max(high, fixed[rack])) for rack, (low, high) in even.items()}

    def rack(self, broker: int) -> str:
        """Name of a broker's rack."""
        return self.racks.get(broker, "")

    def faults(self) -> Iterator[str]:
        """Illegal things about the targets."""
        yield from self.strange
        loads = Counter(one for after in self.after.values() for one in after)
        for broker in set(loads) | set(self.given.lower):
            if not self.given.lower.get(broker, 0) <= loads[broker] <= self.given.upper.get(broker, loads[broker]):
                yield f"broker {broker} ends with {loads[broker]} replicas"
        for brokers, replicas in self.given.totals:
            if sum(loads[one] for one in brokers) != replicas:
                yield f"brokers {brokers} end with other than {replicas} replicas"
        for key, after in self.after.items():
            name, number = f"{key[0]}-{key[1]}", Counter(map(self.rack, after))
            if len(set(after)) < len(after) or len(after) != self.factor(key):
                yield f"{name} has the replicas {after}"
            if not set(after) - set(self.before[key]) <= self.receivers:
                yield f"{name} goes to a broker that receives nothing"
            if not set(after) & set(self.before[key]) <= set(self.keepable(key)):
                yield f"{name} stays on a broker that is to be emptied"
            if not self.fixed(key) <= set(after):
                yield f"{name} gives up a replica that has to stay"
            if any(not low <= number[rack] <= high for rack, (low, high) in self.spreads[key].items()):
                yield f"{name} is spread over racks as {dict(number)}"

    def values(self, bound: Bound) -> Iterator[str]:
        """Whether the value of the plan and its bound are as they are said to be."""
        new = {key: len(set(after) - set(self.before[key])) for key, after in self.after.items()}
        moved = sum(new.values())
        in_bytes = bound.quantity is Quantity.BYTES
        value = sum(new[key] * self.sizes.get(key, 0) for key in new) if in_bytes else moved
        if value != bound.value:
            yield f"{bound.quantity}: the plan has {value}, not {bound.value}"
        proven = 0 if bound.kind is BoundKind.NOTHING else self.proven(bound) - (bound.move_cost * moved) * in_bytes
        if proven < bound.lower_bound or bound.lower_bound > bound.value:
            yield f"{bound.quantity}: the prices prove {proven}, not {bound.lower_bound}"
        if bound.kind is BoundKind.PRICES and not in_bytes and bound.move_cost != 1:
            yield f"{bound.quantity}: a move costs {bound.move_cost}, not 1"

    def proven(self, bound: Bound) -> int:
        """The sum of cheapest placements at these prices, less the most that brokers' bounds let them be paid."""
        prices, lower, upper, total = bound.prices, self.given.lower, self.given.upper, 0
        alone = set(prices) - {broker for brokers, _ in self.given.totals for broker in brokers}
        if any(prices[broker] > 0 and broker not in upper for broker in alone):
            return 0
        total -= sum(prices[one] * (upper[one] if prices[one] > 0 else lower.get(one, 0)) for one in alone)
        for brokers, number in self.given.totals:
            left = number - sum(lower.get(one, 0) for one in brokers)
            for one in sorted(brokers, key=lambda one: -prices.get(one, 0)):
                more = min(left, upper.get(one, number) - lower.get(one, 0))
                total -= prices.get(one, 0) * (lower.get(one, 0) + more)
                left -= more
        ranked: dict[str, list[int]] = {}
        for broker in sorted(self.receivers, key=lambda one: prices.get(one, 0)):
            ranked.setdefault(self.rack(broker), []).append(broker)
        in_bytes = bound.quantity is Quantity.BYTES
        for key in self.before:
            total += self.cheapest(key, prices, ranked, bound.move_cost + self.sizes.get(key, 0) * in_bytes)
        return total

    def cheapest(self, key: Key, prices: Mapping[int, int], ranked: Mapping[str, list[int]], cost: int) -> int:
        """Least cost of placing one partition alone: what racks need first, then the cheapest of the rest."""
        fixed, keepable, before = self.fixed(key), self.keepable(key), set(self.before[key])
        total, rest, left = 0, self.factor(key), []
        for rack, (low, high) in self.spreads[key].items():
            forced = [prices.get(one, 0) for one in fixed if self.rack(one) == rack]
            free = [prices.get(one, 0) for one in keepable if one not in fixed and self.rack(one) == rack]
            near = ranked.get(rack, [])[: high + len(before)] if key not in self.stuck else []
            offers = sorted([*free, *(prices.get(one, 0) + cost for one in near if one not in before)])
            must = max(low - len(forced), 0)
            total += sum(forced) + sum(offers[:must])
            rest -= len(forced) + must
            left += offers[must : high - len(forced)]
        return total + sum(sorted(left)[:rest])


def _sizes(snapshot: ClusterSnapshot) -> dict[Key, int]:
    """Bytes of one replica of each partition: of the leader's where known, otherwise of the largest."""
    found: dict[Any, int] = {}
    led: dict[Any, int] = {}
    for row in snapshot.replicas.rows():
        key, size = (row["topic"], row["partition"]), int(row["size"])  # type: ignore[call-overload]
        place = snapshot.find_row(*key)  # type: ignore[arg-type]
        if not row["future"] and place is not None:
            found[key] = max(found.get(key, 0), size)
            if snapshot.integers("leader")[place] == row["broker"]:
                led[key] = size
    return found | led


def verify(snapshot: ClusterSnapshot, targets: Targets, certificate: Certificate) -> list[str]:
    """Sentences on what is wrong with a plan; none where it is legal and its bounds hold.

    Args:
        snapshot: The cluster.
        targets: Broker ids of each partition that changes.
        certificate: What is claimed.
    """
    check = _Check(snapshot, targets, certificate)
    return [*check.faults(), *(text for bound in certificate.bounds for text in check.values(bound))]
