"""Writes the table of late heartbeats: ``python docs/generator/group_table.py docs/losses.md``.

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
ONE_LATE = MembershipBounds(clients=2, partitions=2, faults=0, time_outs=1)
MEMORY = 1 << 30
BEGIN, END = "<!-- table of groups: make losses -->\n", "<!-- end of the table of groups -->\n"


def table(folder: Path) -> str:
    """The whole table: the fewest steps to a breach of each invariant, if one heartbeat is late.

    Args:
        folder: Where plans are written.
    """
    lines = [f"| {' | '.join(['model', *INVARIANTS])} |\n|{' --- |' * (1 + len(INVARIANTS))}\n"]
    for name in MODELS:
        model = model_of(name, ONE_LATE)
        broken = search(model, [one for one in model.invariants if one.name in INVARIANTS], MEMORY).broken
        cells = [cell(model, invariant, broken.get(invariant), folder) for invariant in INVARIANTS]
        lines.append(f"| {' | '.join([name, *cells])} |\n")
    return "".join(lines)


def main(page: Path) -> None:
    """Writes the table between its marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{table(page.with_suffix(''))}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
