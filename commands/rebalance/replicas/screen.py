"""rebalance replicas on the screen: what would move, what is left out and why, and what to type next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from commands.shared.printing.screen import places, print_cluster, print_lines, print_rows, print_verdict
from commands.shared.values import size_words
from kreplica.execution.rebalance.replicas import PlannedMove
from kreplica.model.tables.rows import names_of
from kreplica.model.wording.durations import spell_duration
from kreplica.model.wording.words import counted
from kreplica.planner.reassignment.moves.effects import BrokerEffect

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.execution.rebalance.replicas import PlannedReplicas
    from kreplica.planner.reassignment.planning import GoalBound

MOST_LISTED = 40
"""Changes that are listed on a terminal; the file of the plan and the other forms have all."""
_COLORS = {"PLANNED": "green", "PARTIAL": "red", "INCOMPLETE": "yellow"}
_SHOWN = ("topic", "partition", "from_replicas", "to_replicas", "adding", "removing", "bytes")


def show(found: PlannedReplicas, console: Console, connection: str) -> None:
    """Prints a plan for a person.

    Args:
        found: The plan.
        console: The terminal.
        connection: The options that name the cluster, for the next commands.
    """
    print_verdict(console, found.word, _COLORS[found.word], _sentence(found))
    print_cluster(console, found.snapshot)
    print_lines(console, "missing", [gap.message for gap in found.snapshot.gaps])
    print_lines(console, "note", found.remarks)
    rows = [row for row in found.rows if row.planned]
    listed = rows[:MOST_LISTED] if console.is_terminal else rows
    sizes = {"bytes": lambda size: "-" if size is None else size_words(size)}
    shown = (*_SHOWN, "directories") if found.changed_directories else _SHOWN
    print_rows(console, PlannedMove, listed, shown=shown, cells=sizes)
    if len(listed) < len(rows):
        console.print(f"and {len(rows) - len(listed)} more; -o csv lists all")
    print_lines(console, "left out", _left_out(found))
    print_lines(console, "wanted" if found.left_out else "bounds", map(_bound, found.bounds))
    _show_effects(found, console)
    print_lines(console, "written", [f"{path}; nothing was changed" for path in found.paths.values()])
    print_lines(console, "next", _next(found, connection), whole=True)


def _sentence(found: PlannedReplicas) -> str:
    partitions = len(found.plan.changes)
    within = _within(found)
    if not partitions and within:
        return within
    if not partitions:
        return "nothing would move" if found.word == "PARTIAL" else "nothing has to move"
    moves = f"{counted(found.moves, 'replica')} of {counted(partitions, 'partition')} would move"
    return f"{moves}, {size_words(found.bytes)}, {counted(found.leader_changes, 'preferred leader')} would change" + (
        f"; {within}" if within else ""
    )


def _within(found: PlannedReplicas) -> str:
    """Clause on the replicas that change their log directory and not their broker."""
    number = len(found.changed_directories)
    if not number:
        return ""
    size = size_words(sum(one.size for one in found.changed_directories))
    return f"{counted(number, 'replica')} would change {'its' if number == 1 else 'their'} log directory, {size}"


def _bound(bound: GoalBound) -> str:
    """One aim: what the plan takes for it, and what no plan goes below."""
    in_bytes = bound.quantity == "bytes"
    least = size_words(bound.bound) if in_bytes else str(bound.bound)
    amount = size_words(bound.value) if in_bytes else counted(bound.value, bound.quantity.removesuffix("s"))
    if bound.of_reached:
        return f"{bound.goal}: {amount}; no plan that reaches as much takes fewer than {least}; {bound.short}"
    if bound.short:
        return f"{bound.goal}: {amount}; the whole aim takes at least {least}; {bound.short}"
    proof = "optimal, no plan takes fewer" if bound.optimal else f"no plan takes fewer than {least}"
    return f"{bound.goal}: {amount}, {proof}"


def _show_effects(found: PlannedReplicas, console: Console) -> None:
    """Prints brokers before and after, where something is copied or led otherwise."""
    if found.effects is None or not found.plan.changes:
        return
    sizes = dict.fromkeys(("bytes_before", "bytes_after", "bytes_in", "bytes_out"), size_words)
    timed = {} if found.effects.seconds is None else {"seconds": lambda seconds: spell_duration(round(seconds))}
    shown = tuple(name for name in names_of(BrokerEffect) if name != "seconds" or timed)
    print_rows(console, BrokerEffect, found.effects.brokers, shown=shown, cells={**sizes, **timed})
    if console.is_terminal and console.encoding.lower().startswith("utf"):
        name, lines = broker_bars(found.effects.brokers, min(30, (console.width - 24) // 2))
        print_lines(console, name, lines, whole=True)
    if (counted_here := found.effects.partitions) < found.effects.all_partitions:
        total = counted(found.effects.all_partitions, "partition")
        print_lines(console, "brokers", [f"{counted_here} of {total} are counted: those that may be planned"])
    if found.effects.seconds is not None:
        print_lines(console, "time", [f"{spell_duration(round(found.effects.seconds))} at this throttle, at least"])


def broker_bars(brokers: Sequence[BrokerEffect], width: int) -> tuple[str, list[str]]:
    """Name of the load that changes most visibly, and a line for each broker: its bar before, its bar after."""
    for name in ("bytes", "replicas", "leaders"):
        pairs = [(getattr(one, f"{name}_before"), getattr(one, f"{name}_after")) for one in brokers]
        if any(before != after for before, after in pairs):
            break
    else:
        return "", []
    most = max(max(pair) for pair in pairs)
    wide = max(len(str(one.broker)) for one in brokers)
    lines = [
        f"{one.broker:>{wide}}  {bar_of(before, most, width):<{width}}  ->  {bar_of(after, most, width)}"
        for one, (before, after) in zip(brokers[:MOST_LISTED], pairs, strict=False)
    ]
    return name, lines


def bar_of(value: int, most: int, width: int) -> str:
    """A bar in eighths of a letter; a load that is not 0 is seen."""
    eighths = max(round(8 * width * value / most), 1 if value else 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _left_out(found: PlannedReplicas) -> Iterator[str]:
    """A line for each reason: how many partitions, which."""
    reasons: dict[str, list[tuple[str, int]]] = {}
    for one in found.left_out:
        reasons.setdefault(one.reason, []).append((one.topic, one.partition))
    if found.leaderless:
        reasons["no live broker leads them, so that there is nothing to copy from"] = list(found.leaderless)
    if found.reassigning:
        reasons["they are being reassigned already"] = list(found.reassigning)
    for reason, some in reasons.items():
        yield f"{counted(len(some), 'partition')} ({places(some)}): {reason}"


def _next(found: PlannedReplicas, connection: str) -> Iterator[str]:
    if not found.plan.changes and not found.changed_directories:
        return
    if "plan" in found.paths:
        yield f"kreplica rebalance apply {shlex.quote(str(found.paths['plan']))} {connection}"
    if "reassignment_json" in found.paths:
        file = shlex.quote(str(found.paths["reassignment_json"]))
        yield f"kafka-reassign-partitions.sh --bootstrap-server HOST:PORT --reassignment-json-file {file} --execute"
