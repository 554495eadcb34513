"""Writes the table of what clients lose or repeat: ``python docs/generator/client_table.py docs/losses.md``.

Counterexamples that the simulator can play are written beside the page, as plans for ``kreplica whatif run --plan``;
cells link to them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from kreplica.engine.explorer.explored import retraced
from kreplica.engine.explorer.layout import State
from kreplica.engine.explorer.model import Model
from kreplica.engine.explorer.models.clients.bounds import ClientBounds
from kreplica.engine.explorer.models.clients.models import TABLES, model_of
from kreplica.engine.explorer.plain_search import search
from kreplica.engine.plans.file import plan_file_to_json
from kreplica.scenarios.counterexamples.replays import replays_of

RECORDS = 2
FAULTS = (0, 1, 2)
MEMORY = 1 << 30
BEGIN, END = "<!-- table of clients: make losses -->\n", "<!-- end of the table of clients -->\n"
HOLDS = "holds"
PAGE = "losses"
"""Name of the page, and of the folder beside it."""


def table(folder: Path) -> str:
    """The whole table: the fewest steps to a breach of each invariant, by faults.

    Args:
        folder: Where plans are written.
    """
    names = ["model", "invariant", *(f"{faults} faults" if faults != 1 else "1 fault" for faults in FAULTS)]
    lines = [f"| {' | '.join(names)} |\n|{' --- |' * len(names)}\n"]
    for name in TABLES:
        found = []
        models = [model_of(name, ClientBounds(RECORDS, faults)) for faults in FAULTS]
        for model in models:
            explored = search(model, model.invariants, MEMORY)
            assert explored.complete or len(explored.broken) == len(model.invariants)
            found.append(explored.broken)
        for invariant in models[0].invariants:
            ways = [each.get(invariant.name) for each in found]
            cells = [cell(model, invariant.name, way, folder) for model, way in zip(models, ways, strict=True)]
            lines.append(f"| {' | '.join([name, invariant.name, *cells])} |\n")
    return "".join(lines)


def cell(model: Model, invariant: str, states: Sequence[State] | None, folder: Path, cause: str = "") -> str:
    """The number of steps of a counterexample; a link to its plan, which is written, where it has one.

    The file is named by the model, the cause and the invariant.
    """
    if states is None:
        return HOLDS
    replay = replays_of(model, {invariant: retraced(model, states)}).get(invariant)
    if replay is None:
        return str(len(states) - 1)
    file = folder / f"{model.name}{cause}-{invariant}.json"
    file.write_bytes(plan_file_to_json(replay.file))
    return f"[{len(states) - 1}]({PAGE}/{file.name})"


def main(page: Path) -> None:
    """Writes the table between its marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    page.write_text(f"{before}{BEGIN}\n{table(folder)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
