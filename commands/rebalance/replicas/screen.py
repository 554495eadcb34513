"""rebalance replicas on the screen: what would move, what is left out and why, and what to type next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from commands.shared.printing.screen import places, print_cluster, print_lines, print_rows, print_verdict
from commands.shared.values import size_words
from kreplica.execution.rebalance.replicas import PlannedMove
from kreplica.model.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.execution.rebalance.replicas import PlannedReplicas

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
    print_rows(console, PlannedMove, listed, shown=_SHOWN, cells=sizes)
    if len(listed) < len(rows):
        console.print(f"and {len(rows) - len(listed)} more; -o csv lists all")
    print_lines(console, "proof", _proof(found))
    print_lines(console, "left out", _left_out(found))
    print_lines(console, "written", [f"{path}; nothing was changed" for path in found.paths.values()])
    print_lines(console, "next", _next(found, connection), whole=True)


def _sentence(found: PlannedReplicas) -> str:
    partitions = len(found.plan.changes)
    if not partitions:
        return "nothing would move" if found.word == "PARTIAL" else "nothing has to move"
    moves = f"{counted(found.moves, 'replica')} of {counted(partitions, 'partition')} would move"
    return f"{moves}, {size_words(found.bytes)}, {counted(found.leader_changes, 'preferred leader')} would change"


def _proof(found: PlannedReplicas) -> Iterator[str]:
    """A sentence for each bound of the certificate."""
    certificate = found.plan.certificate
    if certificate is None or not found.plan.changes:
        return
    for bound in certificate["bounds"]:
        sized = bound["quantity"] == "bytes"
        value, least = (size_words(n) if sized else counted(n, "move") for n in (bound["value"], bound["lower_bound"]))
        others = "no plan of as many moves copies less" if sized else "no plan has fewer"
        yield f"{value}: {others}" if bound["gap"] == 0 else f"{value}, {least} at least: --prove tells how few"


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
    if not found.plan.changes:
        return
    if "plan" in found.paths:
        yield f"kreplica rebalance apply {shlex.quote(str(found.paths['plan']))} {connection}"
    if "reassignment_json" in found.paths:
        file = shlex.quote(str(found.paths["reassignment_json"]))
        yield f"kafka-reassign-partitions.sh --bootstrap-server HOST:PORT --reassignment-json-file {file} --execute"
