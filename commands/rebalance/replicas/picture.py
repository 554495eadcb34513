"""The picture of a plan of replicas: racks and brokers before and after, as bars."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from commands.shared.values import size_words
from kreplica.model.wording.words import counted
from kreplica.report.svg.before_after import BarRow, Bars, before_after_svg

if TYPE_CHECKING:
    from kreplica.execution.rebalance.replicas import PlannedReplicas
    from kreplica.planner.reassignment.moves.effects import BrokerEffect, Effects, RackEffect


def write_picture(found: PlannedReplicas, path: Path, *, replace: bool) -> None:
    """Draws a plan; a crash leaves the old file or the new one, never a part.

    Raises:
        UsageError: The file is there already, or it cannot be written.
    """
    from kreplica.system.output_files import write_output

    assert found.effects is not None, "the command draws plans for a reason alone"
    write_output(path, effects_svg(found.snapshot.label, found.effects).encode(), replace=replace)


def effects_svg(cluster: str, effects: Effects) -> str:
    """An SVG document: each rack, then its brokers; replicas, preferred leaders and bytes.

    Args:
        cluster: Name of the cluster.
        effects: Brokers and racks before and after.
    """
    rows: list[BarRow] = []
    for rack in effects.racks:
        rows.append(_row(f"rack {rack.rack}" if rack.rack else "no rack", rack, group=True))
        rows += [_row(f"broker {one.broker}", one, group=False) for one in effects.brokers if one.rack == rack.rack]
    moved = f"{counted(effects.moves, 'replica')} would move, {size_words(effects.bytes_copied)}"
    return before_after_svg(f"{cluster}: {moved}", ("replicas", "preferred leaders", "bytes"), rows)


def _row(name: str, one: BrokerEffect | RackEffect, *, group: bool) -> BarRow:
    pairs = ((one.replicas_before, one.replicas_after), (one.leaders_before, one.leaders_after))
    numbers = [_bars(before, after, str) for before, after in pairs]
    return BarRow(name, group, (*numbers, _bars(one.bytes_before, one.bytes_after, size_words)))


def _bars(before: int, after: int, form: Callable[[int], str]) -> Bars:
    return Bars(before, after, (form(before), form(after)))
