"""Sentences on what is wrong with a plan and its certificate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kreplica.model.cordons import cordoned_brokers
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.planner.reassignment.certificates.certificate import Bound, Certificate, Load, LoadBounds
from kreplica.planner.reassignment.verification.arrays import PlanArrays, Targets
from kreplica.planner.reassignment.verification.bounds import by_shares, proven_by, value_of
from kreplica.planner.reassignment.verification.conditions import Part, parts_of
from kreplica.planner.reassignment.verification.directories import Changed, Directories, Replica

_NOUNS = {Load.COUNT: "replicas", Load.BYTES: "bytes", Load.WEIGHTS: "units of weight"}


def verify(
    snapshot: ClusterSnapshot,
    targets: Targets,
    certificate: Certificate,
    changed: Changed | None = None,
    chosen: Mapping[Replica, str] | None = None,
) -> list[str]:
    """Sentences on what is wrong: none where targets are legal, values are theirs and bounds hold.

    Args:
        snapshot: The cluster as it was before.
        targets: Replicas of each partition that changes.
        certificate: What is said of the plan.
        changed: Log directories before and afterwards of replicas that stay on their broker.
        chosen: Log directories of replicas that are added.
    """
    plan = PlanArrays(snapshot, targets, certificate)
    parts = parts_of(plan)
    found = [*_strange(plan, snapshot, targets), *(text for part in parts for text in part.faults()), *_ranges(plan)]
    shares, beyond = by_shares(plan, parts) if certificate.shares is not None else (0, 0)
    if certificate.shares is not None and beyond != certificate.shares.beyond:
        found.append(f"{beyond} replicas are beyond a share, not {certificate.shares.beyond}")
    if changed or certificate.reliefs:
        directories = Directories(snapshot, plan, changed or {}, chosen or {})
        found += directories.faults()
        found += [text for relief in certificate.reliefs for text in directories.wrong(relief)]
    return [*found, *(text for bound in certificate.bounds for text in _wrong(plan, parts, bound, shares))]


def _strange(plan: PlanArrays, snapshot: ClusterSnapshot, targets: Targets) -> Iterator[str]:
    rest = {(topic, number) for topic, number, _ in plan.given.rest}
    yield from (f"{key} is not free to change" for key in [*targets, *rest] if key not in plan.place)
    dead = [one for one in plan.given.receivers if snapshot.is_alive(one) is False]
    yield from (f"broker {one} is dead and would receive replicas" for one in dead)
    cordoned = sorted(cordoned_brokers(snapshot) & {*plan.given.receivers})
    yield from (f"broker {one} is cordoned and would receive replicas" for one in cordoned)
    for key in rest & plan.place.keys():
        if set(plan.planned[plan.place[key]]) != set(plan.before[plan.place[key]]):
            yield f"{key} is in the plan and left out of it"


def _ranges(plan: PlanArrays) -> Iterator[str]:
    """Differences between the ranges of brokers and their loads, and of those that are said to miss what was wanted."""
    given, loads = plan.given, {load: plan.on_brokers(plan.after, each) for load, each in plan.load.items()}
    for one in (LoadBounds(Load.COUNT, given.lower, given.upper), *given.loads):
        for broker, load in zip(plan.ids.tolist(), loads[one.load].tolist(), strict=True):
            if not one.lower.get(broker, 0) <= load <= one.upper.get(broker, load):
                yield f"broker {broker} ends with {load} {_NOUNS[one.load]}"
    together = [broker for brokers, _ in given.totals for broker in brokers]
    if len(set(together)) < len(together):
        yield "a broker is in two sets that hold replicas together"
    for brokers, replicas in given.totals:
        if loads[Load.COUNT][plan.marked(brokers)].sum() != replicas:
            yield f"brokers {brokers} do not end with {replicas} replicas together"
    for miss in given.missed:
        if loads[miss.load][plan.marked((miss.broker,))].tolist() != [miss.reached] or (
            miss.lower <= miss.reached <= miss.upper
        ):
            yield f"broker {miss.broker} does not end with {miss.reached}, or wanted just that"


def _wrong(plan: PlanArrays, parts: list[Part], bound: Bound, shares: int) -> Iterator[str]:
    """Differences between what a bound says and what is so."""
    value, planned = (value_of(plan, matrix, bound.quantity) for matrix in (plan.after, plan.planned))
    if bound.value != value:
        yield f"{bound.quantity}: the plan has {value}, not {bound.value}"
    if planned != (bound.value if bound.planned is None else bound.planned):
        yield f"{bound.quantity}: the plan takes {planned} of {value}, not {bound.planned}"
    if bound.limit is not None and bound.limit < planned:
        yield f"{bound.quantity}: the plan takes {planned}, more than {bound.limit}"
    proven = proven_by(plan, parts, bound, shares)
    if bound.lower_bound > max(0, min(proven, value)):
        yield f"{bound.quantity}: {bound.kind} prove {proven} of {value}, not {bound.lower_bound}"
