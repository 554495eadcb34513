"""assign on the screen: what was placed, the partitions, the shares of the brokers, and the command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from commands.assign.answer import creation
from commands.shared.printing.screen import print_cluster, print_lines, print_rows, print_verdict
from kreplica.model.wording.words import counted, named
from kreplica.planner.topic_placement import PlacedPartition, TopicPlacement

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.monitoring.placement import AssignedTopic


def show(found: AssignedTopic, topic: str, console: Console) -> None:
    """Prints a placement for a person."""
    placement = found.placement
    word, color = ("INCOMPLETE", "yellow") if found.missing else ("PLANNED", "green")
    print_verdict(console, word, color, _sentence(placement))
    print_cluster(console, found.reading.snapshots[0])
    print_lines(console, "missing", found.missing)
    print_rows(console, PlacedPartition, found.rows, shown=("partition", "replicas", "racks"))
    print_lines(console, "brokers", _shares(placement))
    print_lines(console, "racks", _racks(placement))
    print_lines(console, "next", [creation(found, topic)], whole=True)


def _sentence(placement: TopicPlacement) -> str:
    replicas = counted(len(placement.partitions[0].replicas), "replica")
    what = f"{counted(len(placement.partitions), 'partition')} of {replicas}"
    return f"{what} on {counted(len(placement.brokers), 'broker')}, {placement.algorithm}, seed {placement.seed}"


def _shares(placement: TopicPlacement) -> Iterator[str]:
    """Lines on how evenly leaders and replicas are spread."""
    for noun in ("leaders", "replicas"):
        counts = [getattr(share, noun) for share in placement.brokers]
        least, most = min(counts), max(counts)
        yield f"{noun}: {most} on each" if least == most else f"{noun}: {least} to {most} on each"
    idle = [share.broker for share in placement.brokers if not share.replicas]
    if idle:
        yield f"{named('broker', idle, 10)} without a replica of this topic"


def _racks(placement: TopicPlacement) -> Iterator[str]:
    factor = len(placement.partitions[0].replicas)
    if placement.fewest_racks == 0:
        return
    if placement.fewest_racks == factor:
        yield "no two replicas of a partition share a rack"
    else:
        yield f"a partition has its {factor} replicas in {counted(placement.fewest_racks, 'rack')}"
