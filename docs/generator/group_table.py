"""Writes the table of late heartbeats and ended sessions: ``python docs/generator/group_table.py docs/losses.md``.

Cells link to plans for ``kreplica whatif run --plan``, which are written beside the page.
"""

from __future__ import annotations

import sys
from pathlib import Path

from client_table import cell

from kreplica.engine.explorer.models.coordinators.memberships.models import model_of
from kreplica.engine.explorer.models.coordinators.memberships.state import MembershipBounds
from kreplica.engine.explorer.plain_search import search

MODELS = ("consumer-group-4.1", "consumer-group-4.2", "consumer-group-4.3", "consumer-group-4.3-mended")
INVARIANTS = ("owned-once", "released-first")
FAULTS = {
    "late heartbeat": MembershipBounds(clients=2, partitions=2, faults=0, time_outs=1),
    "ended session": MembershipBounds(clients=2, partitions=2, faults=1, time_outs=0),
}
"""The one fault of a group, and its bounds; the fault names the file of a plan but for the first."""
MEMORY = 1 << 30
BEGIN, END = "<!-- table of groups: make losses -->\n", "<!-- end of the table of groups -->\n"


def table(folder: Path) -> str:
    """The whole table: the fewest steps to a breach of each invariant, by the fault.

    Args:
        folder: Where plans are written.
    """
    names = [f"{invariant}, {fault}" for fault in FAULTS for invariant in INVARIANTS]
    lines = [f"| {' | '.join(['model', *names])} |\n|{' --- |' * (1 + len(names))}\n"]
    for name in MODELS:
        cells = [each for fault in FAULTS for each in _cells(name, fault, folder)]
        lines.append(f"| {' | '.join([name, *cells])} |\n")
    return "".join(lines)


def _cells(name: str, fault: str, folder: Path) -> list[str]:
    model, cause = model_of(name, FAULTS[fault]), "" if fault == "late heartbeat" else f"-{fault.replace(' ', '-')}"
    broken = search(model, [one for one in model.invariants if one.name in INVARIANTS], MEMORY).broken
    return [cell(model, invariant, broken.get(invariant), folder, cause) for invariant in INVARIANTS]


def main(page: Path) -> None:
    """Writes the table between its marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{table(page.with_suffix(''))}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
