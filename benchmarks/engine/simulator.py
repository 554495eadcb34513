"""Protocol events that the simulator plays a second on one core, with every fold that judges them.

    python benchmarks/engine/simulator.py

Also the scheduler's own share: its calls against a bare heap queue that does nothing else.
"""

from __future__ import annotations

import argparse
import time
from heapq import heappop, heappush
from typing import Any

from kreplica.engine import (
    LATEST,
    MILLISECOND,
    SECOND,
    Judge,
    ProducerSetup,
    ReaderSetup,
    Setup,
    TopicSetup,
    Trace,
    cluster,
    sends,
    simulate,
)
from kreplica.engine.simulator.plan_player import play_plan
from kreplica.engine.simulator.scheduler import Scheduler


def busy_cluster(partitions: int, records: int) -> Setup:
    """Three brokers; a producer that sends a record a millisecond to each partition, and a consumer of all."""
    names = tuple(f"load-{number}" for number in range(partitions))
    replicas = tuple((1 + n % 3, 1 + (n + 1) % 3, 1 + (n + 2) % 3) for n in range(partitions))
    producers = tuple(
        ProducerSetup(f"producer-{name}", sends(name, *(f"{name}/{n}" for n in range(records)), start=SECOND))
        for name in names
    )
    return cluster(
        3,
        TopicSetup("load", replicas, {"min.insync.replicas": 2}),
        clients=(*producers, ReaderSetup("reader", names)),
        duration=records * MILLISECOND + 2 * SECOND,
    )


def play(setup: Setup, judged: bool) -> tuple[int, float]:
    """Events and seconds of CPU time."""
    trace = Trace(keep=False)
    count = 0

    def note(_: object) -> None:
        nonlocal count
        count += 1

    if judged:
        Judge(setup, LATEST, trace)
    trace.subscribe(note)
    begin = time.process_time()
    simulate(setup, (), LATEST, 0, trace)
    return count, time.process_time() - begin


def scheduled(calls: int) -> float:
    """Seconds for that many calls through the scheduler, each of which plans the next."""
    scheduler = Scheduler()

    def tick(left: int) -> None:
        if left:
            scheduler.at(scheduler.now + 7, tick, left - 1)

    begin = time.process_time()
    for chain in range(100):
        scheduler.at(chain, tick, calls // 100 - 1)
    scheduler.run(10**12)
    return time.process_time() - begin


def bare(calls: int) -> float:
    """The same with nothing but a heap."""
    queue: list[tuple[int, int, Any, tuple[int]]] = []
    number = 0
    now = 0

    def tick(left: int) -> None:
        nonlocal number
        if left:
            number += 1
            heappush(queue, (now + 7, number, tick, (left - 1,)))

    begin = time.process_time()
    for chain in range(100):
        number += 1
        heappush(queue, (chain, number, tick, (calls // 100 - 1,)))
    while queue:
        now, _, function, arguments = heappop(queue)
        function(*arguments)
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=6)
    parser.add_argument("--records", type=int, default=3000, help="of each partition")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    setup = busy_cluster(options.partitions, options.records)
    for judged in (False, True):
        events, seconds = min((play(setup, judged) for _ in range(options.repeat)), key=lambda found: found[1])
        told = "with every fold" if judged else "nothing judged"
        print(f"{events} events, {told}: {events / seconds:,.0f} a second")
    calls = 500_000
    own, least = (min(function(calls) for _ in range(options.repeat)) for function in (scheduled, bare))
    print(f"scheduler: {own / calls * 1e6:.2f} us a call, bare heap {least / calls * 1e6:.2f}: {own / least - 1:+.0%}")
    print(f"of the run with every fold the scheduler's surplus is {share(setup, own - least, calls):.1%}")


def share(setup: Setup, surplus: float, calls: int) -> float:
    """Share of a judged run that the scheduler takes beyond a bare heap, by its number of calls."""
    from kreplica.engine.simulator.world import build

    trace = Trace(keep=False)
    Judge(setup, LATEST, trace)
    simulation = build(setup, LATEST, 0, trace)
    begin = time.process_time()
    play_plan(simulation, ())
    return simulation.scheduler.done * surplus / calls / (time.process_time() - begin)


if __name__ == "__main__":
    main()
