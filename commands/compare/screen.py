"""compare on the screen: whether the sides agree, which is which, and what differs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from commands.shared.printing.screen import MOST_LISTED, places, print_lines, print_rows, print_verdict, utc
from kreplica.model.comparison import Difference
from kreplica.model.tables.rows import names_of
from kreplica.model.wording.words import counted, named

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.monitoring.comparison import ComparedClusters

_LONGER = 30


def show(
    compared: ComparedClusters, specs: tuple[str, str], settle: float, console: Console, *, each: bool = False
) -> None:
    """Prints the comparison for a person, many differences gathered unless ``each`` of them is asked for."""
    print_verdict(console, *_verdict(compared))
    for title, side in zip(("left", "right"), compared.sides, strict=True):
        print_lines(console, title, [_described(side)])
    print_lines(console, "passing", _passing(compared, settle))
    print_lines(console, "unknown", _unknown(compared))
    differences = compared.comparison.differences
    gathered = len(differences) > MOST_LISTED and not each
    if gathered:
        print_lines(console, "differ", _gathered(differences))
    elif differences:
        filled = [name for name in names_of(Difference) if any(getattr(one, name) is not None for one in differences)]
        print_rows(console, Difference, differences, shown=filled)
    print_lines(console, "next", _next(compared, specs, settle, gathered=gathered), whole=True)


def _gathered(differences: Sequence[Difference]) -> Iterator[str]:
    """A line for what differs in the same fields for the same reason: where, in which fields, what it may mean."""
    by_meaning: dict[tuple[str, str], list[Difference]] = {}
    for one in differences:
        by_meaning.setdefault((one.meaning, one.field), []).append(one)
    groups: dict[tuple[str, str], list[str]] = {}
    for (meaning, field), some in by_meaning.items():
        groups.setdefault((meaning, _where(some)), []).append(field)
    for (meaning, where), fields in groups.items():
        yield f"{', '.join(fields)} of {where}; {meaning}"


def _where(differences: Sequence[Difference]) -> str:
    brokers = [one.broker for one in differences if one.topic is None and one.broker is not None]
    partitions = [(one.topic, one.partition) for one in differences if one.topic is not None]
    found = [named("broker", brokers)] if brokers else []
    found += [f"{counted(len(partitions), 'partition')} ({places(partitions)})"] if partitions else []
    return " and ".join(found) or "the cluster"


def _verdict(compared: ComparedClusters) -> tuple[str, str, str]:
    comparison = compared.comparison
    if not comparison.differences:
        sizes = f"{counted(comparison.partitions, 'partition')} and {counted(comparison.brokers, 'broker')}"
        if any(side.gaps for side in compared.sides):
            return "INCOMPLETE", "yellow", f"what could be read agrees: {sizes}"
        return "SAME", "green", f"both sides agree on {sizes}"
    partitions = {(one.topic, one.partition) for one in comparison.differences if one.topic is not None}
    brokers = {one.broker for one in comparison.differences if one.broker is not None}
    cluster = any(one.topic is None and one.broker is None for one in comparison.differences)
    numbers = ((len(partitions), "partition"), (len(brokers), "broker"))
    places = [counted(number, noun) for number, noun in numbers if number] + ["the controller"] * cluster
    stale = [side for side in ("left", "right") if any(one.newer == side for one in comparison.differences)]
    older = {"left": "the right side is older", "right": "the left side is older"}
    tail = f"; {older[stale[0]]}" if len(stale) == 1 else "; each side is older in places" if stale else ""
    facts = counted(len(comparison.differences), "fact")
    verb = "differs" if len(comparison.differences) == 1 else "differ"
    return "DIFFERENT", "red", f"{facts} of {' and '.join(places)} {verb}{tail}"


def _described(side: ClusterSnapshot) -> str:
    sizes = f"{counted(len(side.partitions), 'partition')}, {counted(len(side.brokers), 'broker')}"
    return f"{side.name}: {sizes}, {side.source} at {utc(side.taken_at)}"


def _passing(compared: ComparedClusters, settle: float) -> Iterator[str]:
    if compared.passing:
        others = counted(compared.passing, "other difference")
        yield f"{others} seen in one of two readings {settle:g} s apart: changes on their way"


def _unknown(compared: ComparedClusters) -> Iterator[str]:
    facts = [f"{field} ({count})" for field, count in sorted(compared.comparison.unknown.items())]
    if facts:
        yield f"not compared, since one side cannot know it: {', '.join(facts)}"


def _next(compared: ComparedClusters, specs: tuple[str, str], settle: float, *, gathered: bool) -> Iterator[str]:
    lasting = {one.lasting for one in compared.comparison.differences}
    again = f"kreplica compare {' '.join(shlex.quote(spec) for spec in specs)}"
    if False in lasting or (None in lasting and not settle):
        yield f"{again} --settle {_LONGER}"
    if gathered:
        yield f"{again} --all"
