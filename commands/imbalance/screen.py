"""imbalance on the screen: verdict, brokers, actions of the controller, possible elections, skew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from commands.shared.printing.screen import places, print_cluster, print_lines, print_rows, print_verdict
from commands.shared.values import size_words
from kreplica.engine.rules.controller.balance import KRAFT_ELECTIONS_A_PASS, kraft_passes
from kreplica.health.imbalance import BrokerBalance, Measure, diagnosis
from kreplica.model.balancing import AUTO_REBALANCE, INTERVAL_SECONDS, NOT_READ, PERCENTAGE
from kreplica.model.snapshot import MetadataMode
from kreplica.model.wording.words import all_counted, counted

if TYPE_CHECKING:
    from rich.console import Console

    from commands.imbalance.answer import BalancedView
    from kreplica.health.imbalance import NonPreferred
    from kreplica.model.balancing import Balancing

ASSUMED = "Kafka's default, not read"
MOST_REASONS = 6
"""Obstacles that are listed at most; the rest are counted."""

_MEASURES = {
    Measure.LEADERS: "leaders",
    Measure.PREFERRED: "preferred leaders",
    Measure.REPLICAS: "replicas",
    Measure.BYTES: "bytes",
}


def show(views: Sequence[BalancedView], console: Console) -> None:
    """Prints the balance of each cluster for a person."""
    for number, view in enumerate(views):
        if number:
            console.print()
        _show_one(view, console)


def _show_one(view: BalancedView, console: Console) -> None:
    found, snapshot = view.imbalance, view.snapshot
    print_verdict(console, *_verdict(view))
    print_cluster(console, snapshot)
    print_rows(console, BrokerBalance, found.brokers, cells={"ratio": "{:.1%}".format, "bytes": size_words})
    print_lines(console, "missing", _missing(view))
    print_lines(console, "acts", _controller(view))
    print_lines(console, "elect", _elections(found.partitions))
    print_lines(console, "skew", _skew(view))
    if found.electable:
        print_lines(console, "next", [f"kreplica rebalance leaders {view.options}"], whole=True)


def word_of(view: BalancedView) -> str:
    """First word of the verdict."""
    if len(view.imbalance.partitions):
        return "IMBALANCED"
    if view.imbalance.unknown or view.snapshot.gaps:
        return "INCOMPLETE"
    return "SKEWED" if diagnosis(view.spreads, 0) else "BALANCED"


def _verdict(view: BalancedView) -> tuple[str, str, str]:
    """Word, colour and sentence."""
    word, found, total = word_of(view), view.imbalance, len(view.snapshot.partitions)
    partitions = counted(total, "partition")
    if word == "IMBALANCED":
        now = f"{found.electable} of them could be elected now"
        away = len(found.partitions)
        led = "is not led by its" if away == 1 else "are not led by their"
        return word, "yellow", f"{away} of {partitions} {led} preferred leader; {now}"
    if word == "INCOMPLETE":
        return word, "yellow", f"nothing known of {partitions} is led by another than its preferred leader"
    led = f"{all_counted(total, 'partition')} {'is led by its' if total == 1 else 'are led by their'} preferred leader"
    if word == "SKEWED":
        return word, "yellow", f"{led}, but brokers are uneven"
    return word, "green", led


def _missing(view: BalancedView) -> Iterator[str]:
    yield from (gap.message for gap in view.snapshot.gaps)
    if view.imbalance.unknown:
        yield f"the leader of {counted(view.imbalance.unknown, 'partition')} is not known"


def _controller(view: BalancedView) -> Iterator[str]:
    """Lines on which controller brings leaders back, when, and by which settings."""
    found, balancing = view.imbalance, view.imbalance.balancing
    if not balancing.enabled:
        yield f"the controller does nothing by itself: {AUTO_REBALANCE} is false"
    elif found.mode is not MetadataMode.ZOOKEEPER:
        passes = kraft_passes(found.electable)
        more = f", {KRAFT_ELECTIONS_A_PASS} at a time in {passes} passes, one after the other" if passes > 1 else ""
        every = f"every {balancing.interval_seconds} s"
        yield f"the KRaft controller elects eligible preferred leaders {every}, regardless of the ratio{more}"
    if balancing.enabled and found.mode is not MetadataMode.KRAFT:
        above = f"brokers whose ratio is above {balancing.percentage}%"
        yield f"a ZooKeeper controller elects every {balancing.interval_seconds} s those that may lead of {above}"
    yield from _settings(balancing)
    if balancing.disagreeing:
        yield f"brokers differ in {', '.join(balancing.disagreeing)}: the controller's own setting counts"


def _settings(balancing: Balancing) -> Iterator[str]:
    """The settings, grouped by origin."""
    values = {
        AUTO_REBALANCE: str(balancing.enabled).lower(),
        PERCENTAGE: str(balancing.percentage),
        INTERVAL_SECONDS: str(balancing.interval_seconds),
    }
    by_origin: dict[str, list[str]] = {}
    for name, origin in balancing.origins.items():
        by_origin.setdefault(origin, []).append(f"{name}={values[name]}")
    for origin, some in by_origin.items():
        yield f"{', '.join(some)} ({ASSUMED if origin == NOT_READ else origin})"


def _elections(partitions: Sequence[NonPreferred]) -> Iterator[str]:
    """Lines on preferred leaders that could be elected now, and on obstacles of the others, most frequent first."""
    groups: dict[str | None, list[NonPreferred]] = {}
    for item in partitions:
        groups.setdefault(item.obstacle, []).append(item)
    ordered = sorted(groups.items(), key=lambda pair: (pair[0] is not None, -len(pair[1])))
    for obstacle, some in ordered[:MOST_REASONS]:
        where = places((item.topic, item.partition) for item in some)
        yield f"{len(some)} {f'not now, {obstacle}' if obstacle else 'electable now'}: {where}"
    rest = ordered[MOST_REASONS:]
    if rest:
        yield f"{sum(len(some) for _, some in rest)} not now, for {len(rest)} more reasons"


def _skew(view: BalancedView) -> Iterator[str]:
    for measure, spread in view.spreads.items():
        if spread.skewed:
            say = size_words if measure is Measure.BYTES else str
            most, least = (f"{say(count)} on broker {broker}" for count, broker in (spread.most, spread.least))
            yield f"{_MEASURES[measure]}: {most}, {least}, even would be {say(round(spread.even))}"
    verdict = diagnosis(view.spreads, len(view.imbalance.partitions))
    if verdict:
        yield verdict
