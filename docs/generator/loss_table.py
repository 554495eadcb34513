"""Writes the tables of settings that lose records into a page: ``python docs/generator/loss_table.py docs/losses.md``.

A cell is a search through every state of a model of settings, unless another cell of its row answers it. The largest
has some million states. It needs numba. The shortest losses that the simulator can play are written beside the page, as
plans for ``kreplica whatif run --plan``, into a folder named after it; cells link to them.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

from kreplica.engine.explorer.compiled import search as compiled_search
from kreplica.engine.explorer.explored import retraced
from kreplica.engine.explorer.model import Model
from kreplica.engine.explorer.models.settings.models import RELEASES, model_of
from kreplica.engine.explorer.models.settings.state import SettingsBounds, SettingsState
from kreplica.engine.plans.file import PlanFile, plan_file_to_json
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.versions.version import NEVER
from kreplica.scenarios.counterexamples.replays import replays_of

REPLICAS, RECORDS = 3, 1
MEMORY = 2 << 30
HOLDS = "holds"
MENDED = ("settings-4.1-mended", "settings-4.3-mended")
WITHOUT_LOST_LOGS = ("settings-3.9", "settings-4.1"), MENDED[:1]
"""Models of which each stands for those of later releases, too, where no log is lost."""


class Budget(NamedTuple):
    """Faults, and how many of them may be of each kind."""

    faults: int
    losses: int = 0
    stops: int = 0
    cut_offs: int = 0
    power_losses: int = 0
    power_losses_of_all: int = 0

    def within(self, other: Budget) -> bool:
        """True if all that this one allows is allowed by another."""
        return all(one <= more for one, more in zip(self, other, strict=True))

    @property
    def words(self) -> str:
        """The faults of each kind, as part of a file's name: ``1-losses-2-stops``; ``no-fault``."""
        kinds = self._asdict()
        del kinds["faults"]
        told = [f"{count}-{kind.replace('_', '-')}" for kind, count in kinds.items() if count]
        return "-".join(told) or "no-fault"


def any_fault(faults: int, losses: int, stops: int) -> Budget:
    """Faults of which any may leave all brokers up."""
    return Budget(faults, losses, stops, faults)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the page.

    Args:
        begin, end: The marks that it stands between.
        budgets: Columns, by their names.
        settings: acks, min.insync.replicas and flush.messages of its rows; of acks=1 min.insync.replicas makes no
            difference.
        flushes: Whether flush.messages is a column.
        models: The models that are like a release, and the mended ones.
    """

    begin: str
    end: str
    budgets: dict[str, Budget]
    settings: Sequence[tuple[int, int, int]]
    flushes: bool
    models: tuple[Sequence[str], Sequence[str]]

    def rows(self) -> list[tuple[str, SettingsBounds]]:
        """Model and settings of each row, without faults; of the mended models those that they change."""
        clean = [each for each in self.settings if each[0] == ACKS_ALL]
        releases, mended = self.models
        rows = [*product(releases, self.settings, (False, True)), *product(mended, clean, (False,))]
        return [
            (name, SettingsBounds(REPLICAS, RECORDS, acks, min_isr, unclean, 0, 0, 0, flush_messages=flush))
            for name, (acks, min_isr, flush), unclean in rows
        ]

    def row(self, name: str, bounds: SettingsBounds, cells: Sequence[str]) -> str:
        """A line of the table."""
        acks, least = ("all", str(bounds.min_isr)) if bounds.acks == ACKS_ALL else ("1", "any")
        settings = [name, acks, least, "yes" if bounds.unclean else "no"]
        if self.flushes:
            settings.append("never" if bounds.flush_messages == NEVER else str(bounds.flush_messages))
        return f"| {' | '.join([*settings, *cells])} |\n"

    def file_of(self, name: str, bounds: SettingsBounds, spent: Budget) -> str:
        """Name of the plan of a loss in a row of the table."""
        acks = f"all-min-isr-{bounds.min_isr}" if bounds.acks == ACKS_ALL else "1"
        settings = [name, f"acks-{acks}", "unclean" if bounds.unclean else "clean"]
        if self.flushes:
            settings.append("never-flushed" if bounds.flush_messages == NEVER else f"flushed-{bounds.flush_messages}")
        return "-".join([*settings, spent.words]) + ".json"

    def title(self) -> str:
        """The first lines of the table."""
        names = ["model", "acks", "min ISR", "unclean", *(["flush.messages"] if self.flushes else []), *self.budgets]
        return f"| {' | '.join(names)} |\n|{' --- |' * len(names)}\n"

    def text(self, folder: Path) -> str:
        """The whole table, and the plans that its cells link to.

        Args:
            folder: Where plans are written.
        """
        lines = [self.title()]
        for name, bounds in self.rows():
            found = losses(name, bounds, list(self.budgets.values()))
            cells = [HOLDS if loss is None else self.cell(name, bounds, loss, folder) for loss in found]
            lines.append(self.row(name, bounds, cells))
            print(lines[-1], end="", file=sys.stderr, flush=True)
        return "".join(lines)

    def cell(self, name: str, bounds: SettingsBounds, loss: Loss, folder: Path) -> str:
        """The number of steps of a loss; a link to its plan, which is written, where it has one."""
        if loss.plan is None:
            return str(loss.steps)
        file = folder / self.file_of(name, bounds, loss.spent)
        file.write_bytes(plan_file_to_json(loss.plan))
        return f"[{loss.steps}]({folder.name}/{file.name})"


_COUNTS = ((1, 1, 1), (2, 2, 2), (3, 0, 0), (3, 0, 3), (3, 1, 0), (3, 1, 1), (3, 1, 2), (3, 3, 3))
FAULTS = Table(
    begin="<!-- table: make losses -->\n",
    end="<!-- end of table -->\n",
    budgets={f"{faults}: {lost} lost, {kept} kept": any_fault(faults, lost, kept) for faults, lost, kept in _COUNTS},
    settings=[(1, 1, NEVER), *((ACKS_ALL, min_isr, NEVER) for min_isr in (1, 2, 3))],
    flushes=False,
    models=(RELEASES, MENDED),
)
POWER = Table(
    begin="<!-- table of power: make losses -->\n",
    end="<!-- end of the table of power -->\n",
    budgets={
        "1 broker": Budget(1, power_losses=1),
        "2 brokers": Budget(2, power_losses=2),
        "3 brokers": Budget(3, power_losses=3),
        "all": Budget(1, power_losses_of_all=1),
        "1 fault, then all": Budget(2, cut_offs=1, power_losses_of_all=1),
        "all, twice": Budget(2, power_losses_of_all=2),
    },
    settings=[
        (acks, min_isr, flush)
        for acks, min_isr in ((1, 1), (ACKS_ALL, 1), (ACKS_ALL, 2), (ACKS_ALL, 3))
        for flush in (NEVER, 1)
    ],
    flushes=True,
    models=WITHOUT_LOST_LOGS,
)
TABLES = (FAULTS, POWER)


class Loss(NamedTuple):
    """The shortest loss of a model.

    Args:
        steps: Its length.
        spent: The faults that it takes.
        plan: The same as faults of a run; None if it cannot be played.
    """

    steps: int
    spent: Budget
    plan: PlanFile | None


def loss(model: Model) -> Loss | None:
    """The shortest loss; None if there is none."""
    found = compiled_search.search(model, model.invariants, MEMORY)
    assert found.broken or found.complete
    if not found.broken:
        return None
    invariant = model.invariants[0].name
    states = found.broken[invariant]
    replay = replays_of(model, {invariant: retraced(model, states)}).get(invariant)
    return Loss(len(states) - 1, spent(model, states), replay and replay.file)


def spent(model: Model, states: Sequence[SettingsState]) -> Budget:
    """The faults on a way through the states of a model, by their kinds."""
    kinds = {"lose-log": "losses", "crash": "stops", "cut-off": "cut_offs", "shrink-isr": "cut_offs"}
    kinds |= {"lose-power": "power_losses", "all-lose-power": "power_losses_of_all"}
    steps = zip(states, retraced(model, states), strict=False)
    faults = [kinds[step.action.name] for before, step in steps if step.state.faults[0] < before.faults[0]]
    return Budget(len(faults), **Counter(faults))


def losses(name: str, settings: SettingsBounds, budgets: Sequence[Budget]) -> list[Loss | None]:
    """The shortest loss of each budget, None where there is none.

    Largest budgets come first. What holds of one holds of all within it. What a shortest loss does not spend, it does
    not need: it is the shortest of each budget between the one that it spends and the one that it was found with.
    """
    found: dict[Budget, Loss | None] = {}
    for budget in sorted(budgets, reverse=True, key=sum):
        if budget in found:
            continue
        lost = loss(model_of(name, settings._replace(**budget._asdict())))
        for other in budgets:
            if other.within(budget) and (lost is None or lost.spent.within(other)):
                found[other] = lost
    return [found[budget] for budget in budgets]


def main(page: Path) -> None:
    """Writes each table between its marks, and its plans anew."""
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    for table in TABLES:
        before, _, rest = page.read_text(encoding="utf-8").partition(table.begin)
        after = rest.partition(table.end)[2]
        page.write_text(f"{before}{table.begin}\n{table.text(folder)}\n{table.end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
