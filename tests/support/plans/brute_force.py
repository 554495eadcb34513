"""The best target of a small cluster by trying every one: legal for each partition, most equal, fewest moves and bytes.

Written from what is promised, not from how the planner does it: it knows no bounds, levels or flows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product

from kreplica.planner.reassignment.request import ReasonKind, Request
from tests.support.plans.reassignments import BALANCE, SmallCluster, crowding


def best_target(cluster: SmallCluster, request: Request) -> tuple[int, int, int]:
    """Sum of squares of the loads (0 without a balance), moves and bytes of the best target."""
    leaving = set(request.brokers_of(ReasonKind.DRAIN, ReasonKind.REPAIR))
    led = [number for number in cluster.replicas if cluster.in_sync(number)]  # the others are not planned
    choices = [_choices(cluster, request, leaving, number) for number in led]
    sharing = [one for one in cluster.racks if one not in leaving | cluster.dead]
    best = None
    for target in product(*choices):
        loads = Counter(one for after, _ in target for one in after)
        unequal = sum(loads[one] ** 2 for one in sharing) if BALANCE in request.reasons else 0
        size = sum(new * cluster.sizes.get(number, 0) for number, (_, new) in zip(led, target, strict=True))
        found = unequal, sum(new for _, new in target), size
        best = found if best is None or found < best else best
    assert best is not None
    return best


def legal_targets(cluster: SmallCluster, request: Request) -> Iterator[dict[int, tuple[int, ...]]]:
    """Every target that is legal for each partition alone: the brokers of each one that somebody leads."""
    leaving = set(request.brokers_of(ReasonKind.DRAIN, ReasonKind.REPAIR))
    led = [number for number in cluster.replicas if cluster.in_sync(number)]
    for chosen in product(*(_choices(cluster, request, leaving, number) for number in led)):
        yield {number: after for number, (after, _) in zip(led, chosen, strict=True)}


def _choices(
    cluster: SmallCluster, request: Request, leaving: set[int], number: int
) -> list[tuple[tuple[int, ...], int]]:
    """Every legal set of brokers of one partition, with the number of new ones."""
    before = set(cluster.replicas[number])
    factor = request.replication_factor or len(before)
    usable = sorted((before | (set(cluster.racks) - cluster.dead)) - leaving)
    dead = before & cluster.dead - leaving
    last = set(cluster.in_sync(number))
    found = []
    for after in combinations(usable, factor):
        if len(before) > 1 and len(last) == 1 and not last <= set(after):
            continue
        if dead <= set(after):
            found.append((after, len(set(after) - before)))
    least = min(crowding(cluster.racks, list(after)) for after, _ in found)
    if request.has(ReasonKind.RACK_AWARE):
        return [one for one in found if crowding(cluster.racks, list(one[0])) == least]
    kept = Counter(cluster.racks[one] for one in before - leaving)
    even = [_racks(cluster, after) for after in combinations(usable, factor) if _is_even(cluster, after, usable)]
    racks = set(cluster.racks.values())
    low = {rack: min(kept[rack], *(one[rack] for one in even)) for rack in racks}
    high = {rack: max(kept[rack], *(one[rack] for one in even)) for rack in racks}
    return [one for one in found if all(low[rack] <= _racks(cluster, one[0])[rack] <= high[rack] for rack in racks)]


def _racks(cluster: SmallCluster, after: tuple[int, ...]) -> Counter[str | None]:
    return Counter(cluster.racks[one] for one in after)


def _is_even(cluster: SmallCluster, after: tuple[int, ...], usable: list[int]) -> bool:
    """True if no rack has two more than another that could take one more."""
    number, room = _racks(cluster, after), Counter(cluster.racks[one] for one in usable)
    return all(number[high] - number[low] <= 1 or number[low] == room[low] for high in room for low in room)
