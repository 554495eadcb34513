"""Writes the table of what clients lose or repeat: ``python docs/generator/client_table.py docs/losses.md``."""

from __future__ import annotations

import sys
from pathlib import Path

from kreplica.engine.explorer.models.clients.bounds import ClientBounds
from kreplica.engine.explorer.models.clients.models import TABLES, model_of
from kreplica.engine.explorer.plain_search import search

RECORDS = 2
FAULTS = (0, 1, 2)
MEMORY = 1 << 30
BEGIN, END = "<!-- table of clients: make losses -->\n", "<!-- end of the table of clients -->\n"
HOLDS = "holds"


def table() -> str:
    """The whole table: the fewest steps to a breach of each invariant, by faults."""
    names = ["model", "invariant", *(f"{faults} faults" if faults != 1 else "1 fault" for faults in FAULTS)]
    lines = [f"| {' | '.join(names)} |\n|{' --- |' * len(names)}\n"]
    for name in TABLES:
        found = []
        for faults in FAULTS:
            model = model_of(name, ClientBounds(RECORDS, faults))
            explored = search(model, model.invariants, MEMORY)
            assert explored.complete or len(explored.broken) == len(model.invariants)
            found.append(explored.broken)
        for invariant in model.invariants:
            cells = [str(len(each[invariant.name]) - 1) if invariant.name in each else HOLDS for each in found]
            lines.append(f"| {' | '.join([name, invariant.name, *cells])} |\n")
    return "".join(lines)


def main(page: Path) -> None:
    """Writes the table between its marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
