"""Writes the table of settings that lose records into a page: ``python docs/generator/loss_table.py docs/losses.md``.

Each cell is a search through every state of a model of settings; the largest has about a million. It needs numba.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

from kreplica.engine.explorer.compiled import search as compiled_search
from kreplica.engine.explorer.model import Model
from kreplica.engine.explorer.settings.models import model_of
from kreplica.engine.explorer.settings.state import SettingsBounds
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL

REPLICAS, RECORDS, PREFERRED = 3, 1, 1
MEMORY = 2 << 30
BUDGETS = ((1, 1, 1), (2, 2, 2), (3, 0, 0), (3, 0, 3), (3, 1, 0), (3, 1, 1), (3, 1, 2), (3, 3, 3))
"""Columns: faults, and how many of them may be crashes that lose, or that keep, the log."""
SETTINGS = ((1, 1), (ACKS_ALL, 1), (ACKS_ALL, 2), (ACKS_ALL, 3))
"""acks and min.insync.replicas; of acks=1 the latter makes no difference."""
BEGIN, END = "<!-- table: make losses -->\n", "<!-- end of table -->\n"
HOLDS = "holds"


RELEASES = ("settings-3.9", "settings-4.1")
MENDED = "settings-4.1-mended"


def models() -> list[tuple[str, SettingsBounds]]:
    """Settings of each row, with the first budget; of the mended model those that it changes."""
    rows = [*product(RELEASES, SETTINGS, (False, True)), *product((MENDED,), SETTINGS[1:], (False,))]
    return [
        (name, SettingsBounds(REPLICAS, RECORDS, acks, min_isr, unclean, *BUDGETS[0], first_leader=PREFERRED))
        for name, (acks, min_isr), unclean in rows
    ]


def row(name: str, bounds: SettingsBounds, cells: list[str]) -> str:
    """A line of the table."""
    acks, least = ("all", str(bounds.min_isr)) if bounds.acks == ACKS_ALL else ("1", "any")
    return f"| {' | '.join([name, acks, least, 'yes' if bounds.unclean else 'no', *cells])} |\n"


def title() -> str:
    """The first lines of the table."""
    budgets = [f"{faults}: {losses} lost, {stops} kept" for faults, losses, stops in BUDGETS]
    names = ["model", "acks", "min ISR", "unclean", *budgets]
    return f"| {' | '.join(names)} |\n|{' --- |' * len(names)}\n"


def cell(model: Model) -> str:
    """The steps of the shortest loss, or that there is none."""
    found = compiled_search.search(model, model.invariants, MEMORY)
    assert found.broken or found.complete
    return str(len(found.broken[model.invariants[0].name]) - 1) if found.broken else HOLDS


def table() -> str:
    """The whole table."""
    lines = [title()]
    for name, bounds in models():
        of_budgets = [bounds._replace(faults=faults, losses=losses, stops=stops) for faults, losses, stops in BUDGETS]
        lines.append(row(name, bounds, [cell(model_of(name, each)) for each in of_budgets]))
    return "".join(lines)


def main(page: Path) -> None:
    """Writes the table between its marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
