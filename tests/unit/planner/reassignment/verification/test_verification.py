"""Verification of plans: independent of planners, and whatever is changed in a plan or its certificate is found."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kreplica.errors import UsageError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.planner.reassignment import verification
from kreplica.planner.reassignment.certificates.certificate import (
    Bound,
    BoundKind,
    Certificate,
    Load,
    Missed,
    Quantity,
    TopicShares,
    certificate_object,
)
from kreplica.planner.reassignment.planning import PlannedReassignment, PlanningLimits, plan_reassignment
from kreplica.planner.reassignment.request import Measure, Reason, ReasonKind, Request
from kreplica.planner.reassignment.verification.arrays import PlanArrays
from kreplica.planner.reassignment.verification.bounds import proven_by
from kreplica.planner.reassignment.verification.conditions import parts_of
from kreplica.planner.reassignment.verification.verify import verify
from tests.support.examples import examples
from tests.support.plans.brute_force import legal_targets
from tests.support.plans.reassignments import BALANCE, RACK_AWARE, SmallCluster, requests, small_clusters

UNKNOWN_DISKS = PlanningLimits(ignore_capacity=True)


def read_again(certificate: Certificate) -> Certificate:
    """The certificate as it is read from a plan's file."""
    text = json.dumps(certificate_object(certificate))
    return msgspec.convert(json.loads(text), Certificate, strict=False, str_keys=True)


@st.composite
def plans(draw: st.DrawFn) -> tuple[PlannedReassignment, ClusterSnapshot]:
    """Plans of any reasons, in any order, with and without limits."""
    cluster: SmallCluster = draw(small_clusters())
    request = draw(requests(cluster))
    measures = draw(st.lists(st.sampled_from(Measure), unique=True, max_size=3))
    balances = tuple(Reason(ReasonKind.BALANCE, measure=one) for one in measures)
    counted = request.reasons if draw(st.booleans()) or not balances else ()
    limits = [draw(st.none() | st.integers(0, 6)) for _ in range(3)]
    wanted = Request(
        (*counted, *balances),
        to=request.to,
        excluded_brokers=request.excluded_brokers,
        max_moves=limits[0],
        max_bytes=limits[1],
        max_leader_changes=limits[2],
        weights={("orders", number): draw(st.integers(0, 9)) for number in cluster.replicas},
        prove=draw(st.booleans()),
    )
    snapshot = cluster.snapshot()
    try:
        return plan_reassignment(snapshot, wanted, UNKNOWN_DISKS), snapshot
    except UsageError:
        assume(False)
        raise


def test_who_judges_imports_nothing_that_is_judged() -> None:
    """Of planners only the certificate, which is data, and that imports nothing of them."""
    folder = Path(verification.__path__[0])
    own = "kreplica.planner.reassignment."
    allowed = {f"{own}certificates.certificate", *(f"{own}verification.{file.stem}" for file in folder.glob("*.py"))}
    imported = {
        node.module
        for file in (*folder.glob("*.py"), folder.parent / "certificates" / "certificate.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module is not None
    }
    assert {one for one in imported if one.startswith("kreplica.planner")} <= allowed
    assert f"{own}certificates.certificate" in imported
    assert not imported & {"scipy", "ortools"}


@examples(2)
@given(st.data())
def test_every_plan_carries_a_certificate_that_holds(data: st.DataObject) -> None:
    planned, snapshot = data.draw(plans())
    left_out = data.draw(st.sets(st.sampled_from(sorted(planned.targets)))) if planned.targets else set()
    certificate = read_again(planned.certificate(left_out))
    goals = {key: after for key, after in planned.targets.items() if key not in left_out}
    assert verify(snapshot, goals, certificate) == []
    assert all(bound.lower_bound <= bound.value and bound.least_left <= bound.left for bound in certificate.bounds)


RACKS: dict[int, str | None] = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
LISTS = {number: [1, 2, 3] if number < 5 else [4, 2, 3] for number in range(8)}
CLUSTER = SmallCluster(RACKS, LISTS, {number: 10 + number for number in LISTS})
TOPIC, BYTES, WEIGHTS, LEADERS = (
    Reason(ReasonKind.BALANCE, measure=one) for one in (Measure.TOPIC, Measure.BYTES, Measure.WEIGHTS, Measure.LEADERS)
)
WEIGHED = {("orders", number): 5 + number % 3 for number in LISTS}

DRAINED = Reason(ReasonKind.DRAIN, (1,))
TWO_REPLICAS = Reason(ReasonKind.REPLICATION_FACTOR, replication_factor=2)

Goals = dict[tuple[str, int], tuple[int, ...]]
Forge = Callable[[Goals, Certificate], tuple[Goals, Certificate]]


def of(*reasons: Reason, **limits: int) -> tuple[Goals, Certificate]:
    """A plan of the cluster and its certificate."""
    request = Request(reasons, weights=WEIGHED, prove=True, **limits)  # type: ignore[arg-type]
    planned = plan_reassignment(CLUSTER.snapshot(), request, UNKNOWN_DISKS)
    return planned.targets, planned.certificate()


def placed(number: int, *after: int) -> Forge:
    return lambda goals, certificate: ({**goals, ("orders", number): after}, certificate)


def stated(**fields: Any) -> Forge:
    return lambda goals, certificate: (goals, replace(certificate, **fields))


def bound(place: int, **changes: Callable[[Any], Any]) -> Forge:
    """One bound with fields changed."""

    def forge(goals: Goals, certificate: Certificate) -> tuple[Goals, Certificate]:
        bounds = list(certificate.bounds)
        said = {name: change(getattr(bounds[place], name)) for name, change in changes.items()}
        bounds[place] = replace(bounds[place], **said)
        return goals, replace(certificate, bounds=tuple(bounds))

    return forge


def ranged(name: str, change: Callable[[int], int]) -> Forge:
    """The range of one broker changed."""

    def forge(goals: Goals, certificate: Certificate) -> tuple[Goals, Certificate]:
        one = certificate.loads[0]
        values = {**getattr(one, name)}
        values[min(values)] = change(values[min(values)])
        return goals, replace(certificate, loads=(replace(one, **{name: values}),))

    return forge


def above(values: dict[int, int]) -> dict[int, int]:
    """Prices of which the highest is raised."""
    highest = max(values, key=values.__getitem__)
    return {**values, highest: 2 * abs(values[highest]) + 1}


def more(value: int) -> int:
    return value + 1


def less(value: int) -> int:
    return value - 1


def dropped(goals: Goals, certificate: Certificate) -> tuple[Goals, Certificate]:
    """A plan without one of its changes."""
    return dict(sorted(goals.items())[1:]), certificate


def turned(goals: Goals, certificate: Certificate) -> tuple[Goals, Certificate]:
    """A plan with another leader."""
    key = min(goals)
    return {**goals, key: (*goals[key][1:], goals[key][0])}, certificate


ADDED = Reason(ReasonKind.ADD, (5, 6))
COUNT, DRAIN = BALANCE, Reason(ReasonKind.DRAIN, (4,))
FORGERIES: dict[str, tuple[tuple[Reason, ...], dict[str, int], Forge, str]] = {
    "a replica onto a full broker": ((COUNT,), {}, placed(7, 1, 2, 3), "broker 1 ends with"),
    "a change dropped": ((COUNT,), {}, dropped, "ends with"),
    "a broker twice": ((COUNT,), {}, placed(7, 4, 2, 2), "has a replica twice, too many or too few: [4, 2, 2]"),
    "a replica too few": ((COUNT,), {}, placed(7, 4, 2), "has a replica twice, too many or too few: [4, 2]"),
    "two of one rack": ((COUNT,), {}, placed(7, 4, 1, 3), "is spread over racks in another way: [4, 1, 3]"),
    "an unknown broker": ((COUNT,), {}, placed(7, 9, 2, 3), "goes to or stays on a broker that may not have it"),
    "another topic": ((COUNT,), {}, lambda g, c: ({**g, ("x", 0): (1,)}, c), "('x', 0) is not free to change"),
    "a drained broker": ((DRAIN,), {}, placed(7, 4, 2, 3), "goes to or stays on a broker that may not have it"),
    "a receiver less": ((DRAIN,), {}, stated(receivers=(5, 6)), "goes to or stays on a broker that may not have it"),
    "a broker that shall stay": ((COUNT,), {}, stated(staying=(1,)), "gives up a replica that has to stay"),
    "fewer replicas on a broker": ((COUNT,), {}, stated(upper={1: 2}), "broker 1 ends with 4 replicas"),
    "more replicas on a broker": ((COUNT,), {}, stated(lower={1: 5}), "broker 1 ends with 4 replicas"),
    "a broker nobody knows": ((COUNT,), {}, stated(lower={77: 1}), "broker 77 ends with 0 replicas"),
    "a wrong total": ((COUNT,), {}, stated(totals=(((1, 2), 3),)), "do not end with 3 replicas together"),
    "a broker in two totals": ((COUNT,), {}, stated(totals=(((1,), 4), ((1,), 4))), "a broker is in two sets"),
    "a miss that is none": ((COUNT,), {}, stated(missed=(Missed(Load.COUNT, 1, 4, 3, 5),)), "broker 1 does not end"),
    "a miss of another load": ((COUNT,), {}, stated(missed=(Missed(Load.COUNT, 1, 9, 3, 5),)), "broker 1 does not end"),
    "moves counted wrong": ((COUNT,), {}, bound(0, value=less, lower_bound=less), "moves: the plan has"),
    "bytes counted wrong": ((COUNT,), {}, bound(1, value=more, lower_bound=more), "bytes: the plan has"),
    "a bound of moves too high": ((DRAIN,), {}, bound(0, lower_bound=more), "moves: prices prove 3 of 3, not 4"),
    "a bound of bytes too high": ((COUNT,), {}, bound(1, lower_bound=more), "bytes: prices prove"),
    "a price of replicas raised": ((COUNT,), {}, bound(0, prices=above), "moves: prices prove"),
    "a price for bytes raised": ((COUNT,), {}, bound(1, prices=above), "bytes: prices prove"),
    "a cheap move": ((COUNT,), {}, bound(0, move_cost=more), "moves: prices prove 0"),
    "a move that is paid for": ((COUNT,), {}, bound(1, move_cost=lambda _: -5), "bytes: prices prove 0"),
    "prices beyond 64 bits": ((COUNT,), {}, bound(0, prices=lambda _: {1: 1 << 80}), "moves: prices prove 0"),
    "a lower end dropped": ((ADDED,), {}, stated(lower={}), "moves: prices prove"),
    "another kind": ((COUNT,), {}, bound(0, kind=lambda _: BoundKind.NOTHING), "moves: nothing prove 0"),
    "levels of moves": ((COUNT,), {}, bound(0, kind=lambda _: BoundKind.LEVELS), "moves: levels prove 0"),
    "less room for bytes": ((BYTES,), {}, ranged("upper", lambda _: 3), "ends with"),
    "more bytes wanted": ((BYTES,), {}, ranged("lower", lambda low: 99 * low), "ends with"),
    "bytes of a plan counted wrong": (
        (BYTES,),
        {},
        bound(0, value=less, lower_bound=lambda _: 0),
        "bytes: the plan has",
    ),
    "a bound of a load too high": ((BYTES,), {}, bound(0, lower_bound=lambda low: 2 * low), "bytes: prices prove"),
    "a price of a byte raised": ((BYTES,), {}, bound(0, prices=above, lower_bound=more), "bytes: prices prove"),
    "another load": ((BYTES,), {}, bound(0, load=lambda _: Load.WEIGHTS), "bytes: prices prove 0"),
    "no scale": ((WEIGHTS,), {}, bound(0, scale=lambda _: 0), "bytes: prices prove 0"),
    "a smaller scale": ((WEIGHTS,), {}, bound(0, scale=lambda scale: scale // 2), "bytes: prices prove"),
    "a weight changed": ((WEIGHTS,), {}, stated(weights=(("orders", 0, 1 << 20),)), "units of weight"),
    "a weight below 0": (
        (WEIGHTS,),
        {},
        lambda g, c: (g, replace(c, weights=((*c.weights[0][:2], -1), *c.weights[1:]))),
        "bytes: prices prove 0",
    ),
    "shares met that are not": (
        (TOPIC,),
        {},
        stated(shares=TopicShares(((1, 2, 3, 4, 5, 6),), 9)),
        "beyond a share, not 9",
    ),
    "a bound of shares too high": ((TOPIC,), {}, bound(0, lower_bound=more, value=more), "moves: shares prove"),
    "shares that nobody has": ((TOPIC,), {}, stated(shares=None), "moves: shares prove 0"),
    "another leader": ((LEADERS,), {}, turned, "leader squares: the plan has"),
    "changes at another balance": ((LEADERS,), {}, turned, "leader changes: levels prove 0"),
    "squares too high": ((LEADERS,), {}, bound(0, lower_bound=more, value=more), "leader squares: levels prove"),
    "changes too high": ((LEADERS,), {}, bound(1, lower_bound=more, value=more), "leader changes: levels prove"),
    "levels raised": (
        (LEADERS,),
        {},
        lambda g, c: (g, replace(c, leaders=replace(c.leaders, levels=dict.fromkeys(RACKS, 7)))),
        "leader squares: levels prove",
    ),
    "prices of leaders raised": (
        (LEADERS,),
        {},
        lambda g, c: (g, replace(c, leaders=replace(c.leaders, prices=above(dict.fromkeys(RACKS, 0))))),
        "leader changes: levels prove",
    ),
    "a leader that may not": (
        (LEADERS,),
        {},
        lambda g, c: (g, replace(c, leaders=replace(c.leaders, barred=(1, 2, 4, 5)))),
        "leader squares: levels prove 0",
    ),
    "the rest forgotten": ((DRAIN,), {"max_moves": 1}, stated(rest=()), "goes to or stays on a broker"),
    "the rest in the plan": (
        (DRAIN,),
        {"max_moves": 1},
        lambda g, c: ({**g, c.rest[0][:2]: c.rest[0][2]}, c),
        "is in the plan and left out of it",
    ),
    "more planned than is": ((DRAIN,), {"max_moves": 1}, bound(0, planned=more), "moves: the plan takes 1 of 3, not 2"),
    "above the limit": ((DRAIN,), {"max_moves": 1}, bound(0, limit=less), "moves: the plan takes 1, more than 0"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_is_forged_is_found_and_named(name: str) -> None:
    reasons, limits, forge, said = FORGERIES[name]
    goals, certificate = of(*reasons, **limits)
    assert verify(CLUSTER.snapshot(), goals, certificate) == []
    found = verify(CLUSTER.snapshot(), *forge(goals, certificate))
    assert any(said in fault for fault in found), found


def test_replicas_that_are_given_up_are_no_moves() -> None:
    """Four partitions on brokers 1 to 3 keep two replicas each: seven leave, three come, one to each other broker."""
    cluster = SmallCluster(dict.fromkeys(range(1, 7)), {number: [1, 2, 3] for number in range(4)})
    planned = plan_reassignment(cluster.snapshot(), Request((TWO_REPLICAS, TOPIC)), UNKNOWN_DISKS)
    certificate = planned.certificate()
    shares = Bound(Quantity.MOVES, 3, 3, BoundKind.SHARES, 1, {})
    assert verify(cluster.snapshot(), planned.targets, replace(certificate, bounds=(shares,))) == []
    forged = replace(certificate, bounds=(replace(shares, lower_bound=4),))
    assert verify(cluster.snapshot(), planned.targets, forged) == ["moves: shares prove 3 of 3, not 4"]


def test_shares_are_not_compared_rack_by_rack_where_replicas_may_change_their_rack() -> None:
    """Nothing has to move; a plan that moves one to the other rack all the same is not the best."""
    cluster = SmallCluster({1: "a", 2: "a", 3: "b"}, {0: [1], 1: [2]})
    certificate = plan_reassignment(cluster.snapshot(), Request((TOPIC,)), UNKNOWN_DISKS).certificate()
    forged = replace(certificate, bounds=(Bound(Quantity.MOVES, 1, 1, BoundKind.SHARES, 1, {}),))
    found = verify(cluster.snapshot(), {("orders", 1): (3,)}, forged)
    assert found == ["moves: shares prove 0 of 1, not 1"]


def test_certificates_of_before_are_read_and_hold() -> None:
    """Files of the first certificates have neither loads, shares, leaders nor what is left out."""
    goals, certificate = of(COUNT)
    first = (
        "topics",
        "replication_factor",
        "rack_aware",
        "receivers",
        "emptied",
        "staying",
        "lower",
        "upper",
        "totals",
    )
    old = {name: certificate_object(certificate)[name] for name in ("optimal", *first, "stuck", "bounds")}
    fields = ("quantity", "value", "lower_bound", "kind", "move_cost", "prices", "gap")
    old["bounds"] = [{name: one[name] for name in fields} for one in old["bounds"]]
    read = msgspec.convert(json.loads(json.dumps(old)), Certificate, strict=False, str_keys=True)
    assert read == certificate
    assert verify(CLUSTER.snapshot(), goals, read) == []


def test_bytes_that_have_changed_are_found() -> None:
    goals, certificate = of(BYTES)
    grown = replace(CLUSTER, sizes={number: size + 1 for number, size in CLUSTER.sizes.items()})
    assert any(fault.startswith("bytes: the plan has") for fault in verify(grown.snapshot(), goals, certificate))


AIMS = (
    (BALANCE,),
    (DRAINED,),
    (RACK_AWARE, BALANCE),
    (BYTES,),
    (WEIGHTS,),
    (TOPIC,),
    (DRAINED, BYTES),
    (BALANCE, TOPIC),
    (DRAINED, TOPIC),
    (TWO_REPLICAS, TOPIC),
)


def met(cluster: SmallCluster, certificate: Certificate, weights: dict[int, int], target: dict[int, Any]) -> bool:
    """Conditions of a certificate on brokers, in plain words, of a target that is legal for each partition."""
    given = {
        Load.COUNT: dict.fromkeys(cluster.replicas, 1),
        Load.BYTES: dict.fromkeys(cluster.replicas, 0) | cluster.sizes,
        Load.WEIGHTS: weights,
    }
    ranges = [(Load.COUNT, certificate.lower, certificate.upper)]
    ranges += [(one.load, one.lower, one.upper) for one in certificate.loads]
    for load, lower, upper in ranges:
        for broker in cluster.racks:
            number = sum(given[load][number] for number, after in target.items() if broker in after)
            if not lower.get(broker, 0) <= number <= upper.get(broker, number):
                return False
    held_by = Counter(broker for after in target.values() for broker in after)
    return all(sum(held_by[broker] for broker in brokers) == number for brokers, number in certificate.totals)


def shared(certificate: Certificate, reached: Counter[int], target: dict[int, Any]) -> bool:
    """True if no broker is further from its share of the one topic than the plan leaves it."""
    if certificate.shares is None:
        return True
    loads = Counter(broker for after in target.values() for broker in after)
    for group in certificate.shares.groups:
        low, above_low = divmod(sum(loads[one] for one in group), len(group))
        high = low + (above_low > 0)
        if any(not min(low, reached[one]) <= loads[one] <= max(high, reached[one]) for one in group):
            return False
    return True


@examples(1)
@given(st.data())
def test_no_target_is_below_what_is_proven(data: st.DataObject) -> None:
    """Any prices prove a bound, and none is above the best of all targets that meet the conditions."""
    cluster: SmallCluster = data.draw(small_clusters(most_partitions=3, most_brokers=5))
    reasons = data.draw(st.sampled_from(AIMS))
    weights = {number: data.draw(st.integers(0, 5)) for number in cluster.replicas}
    request = Request(reasons, weights={("orders", number): weight for number, weight in weights.items()}, prove=True)
    try:
        planned = plan_reassignment(cluster.snapshot(), request, UNKNOWN_DISKS)
    except UsageError:
        assume(False)
        raise
    assume(not planned.stuck)
    certificate = planned.certificate()
    led = [number for number in cluster.replicas if cluster.in_sync(number)]
    ours = {number: planned.targets.get(("orders", number), tuple(cluster.replicas[number])) for number in led}
    reached = Counter(broker for after in ours.values() for broker in after)
    costs = []
    for target in legal_targets(cluster, request):
        if met(cluster, certificate, weights, target) and shared(certificate, reached, target):
            new = [number for number, after in target.items() for one in after if one not in cluster.replicas[number]]
            costs.append((len(new), sum(cluster.sizes[number] for number in new)))
    assert verify(cluster.snapshot(), planned.targets, certificate) == []
    arrays = PlanArrays(cluster.snapshot(), planned.targets, certificate)
    parts = parts_of(arrays)
    moved = sum(len({*after} - {*cluster.replicas[number]}) for number, after in ours.items())
    for one in certificate.bounds:
        in_bytes = one.quantity is Quantity.BYTES
        least = min(cost[in_bytes] for cost in costs if not (in_bytes and one.move_cost) or cost[0] <= moved)
        assert one.lower_bound <= least <= one.value
        drawn = {broker: data.draw(st.integers(-9, 9)) for broker in cluster.racks}
        forged = replace(one, kind=BoundKind.PRICES, prices=drawn, load=data.draw(st.sampled_from(Load)))
        assert proven_by(arrays, parts, forged) <= least
        if certificate.shares is not None:
            assert proven_by(arrays, parts, replace(one, kind=BoundKind.SHARES)) <= least


@examples(1)
@given(st.data())
def test_no_order_of_leaders_is_better_than_is_proven(data: st.DataObject) -> None:
    """All orders of the replicas that the plan ends with: none has fewer squares, nor as few with fewer changes."""
    cluster: SmallCluster = data.draw(small_clusters(most_partitions=5, most_brokers=5))
    drained = (DRAINED,) if data.draw(st.booleans()) else ()
    try:
        planned = plan_reassignment(cluster.snapshot(), Request((*drained, LEADERS)), UNKNOWN_DISKS)
    except UsageError:
        assume(False)
        raise
    free = [
        (number, [one for one in after if one not in cluster.dead])
        for number in cluster.replicas
        if cluster.in_sync(number)
        for after in [planned.targets.get(("orders", number), tuple(cluster.replicas[number]))]
    ]
    able = [(number, brokers) for number, brokers in free if brokers]
    found = []
    for leaders in product(*(brokers for _, brokers in able)):
        changes = sum(leader != cluster.replicas[number][0] for (number, _), leader in zip(able, leaders, strict=True))
        found.append((sum(one * one for one in Counter(leaders).values()), changes))
    squares, changes = (
        one for one in planned.certificate().bounds if one.quantity not in (Quantity.MOVES, Quantity.BYTES)
    )
    assert min(found) == (squares.lower_bound, changes.lower_bound) == (squares.value, changes.value)
