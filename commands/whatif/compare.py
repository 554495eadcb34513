"""kreplica whatif compare: a scenario under several versions and settings, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption
from commands.shared.options.engine_settings import FeatureOption, SetOption, split_settings
from commands.whatif.options import ScenarioArgument, SeedOption
from kreplica.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Answer
    from kreplica.engine.settings import Value
    from kreplica.scenarios.outcome_rows import NotPlayed
    from kreplica.scenarios.playing import Run
    from kreplica.scenarios.rows import ComparedRun
    from kreplica.scenarios.scenario import Scenario

MOST_COLUMNS = 64
"""Most columns of a comparison: nobody reads more, and a typing error would otherwise play for hours."""

_OF_RECORDS = frozenset(
    ("lost", "unseen", "duplicated", "reordered", "aborted_read", "stale_read", "lost_read", "read_twice", "skipped")
)
"""Rows that name records."""
_ALWAYS = ("as_expected", "acknowledged", "lost", "duplicated", "reordered", "diverged", "unavailable_ms")


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "compare",
        short_help="Play a scenario under several versions and settings, in columns.",
        epilog=examples(
            "kreplica whatif compare hw-truncation-loss --kafka-version 0.10,0.11,4.1",
            "kreplica whatif compare acks1-leader-crash --set acks=0,1,all",
        ),
    )(compare)


def compare(
    scenario: ScenarioArgument,
    kafka_version: Annotated[
        str | None,
        typer.Option(
            "--kafka-version",
            metavar="VERSION,…",
            help="One column for each version.  [default: those where the scenario changes]",
        ),
    ] = None,
    settings: SetOption = None,
    feature: FeatureOption = None,
    seed: SeedOption = 0,
    output: OutputOption = None,
) -> None:
    """Compare the outcomes of a scenario by version or setting: --kafka-version 0.10,0.11 gives a column each.

    So do --set acks=0,1,all and levels of --feature. Several options with several values give every combination.
    Without any, the columns are the versions at which the scenario expects another outcome. A column that cannot be
    played says why. Exits 0; 1 when an outcome is not the one that the scenario expects; 2 when the scenario, a version
    or a setting cannot be used.
    """
    from commands.shared.printing.output import Answer, emit
    from kreplica.scenarios import scenario_named
    from kreplica.scenarios.outcome_rows import compare_runs
    from kreplica.scenarios.rows import ComparedRun

    chosen = scenario_named(scenario)
    variants = _variants(chosen, kafka_version, _choices(settings, feature))
    compared = compare_runs(chosen, variants, seed)
    rows, runs = compared.rows, compared.runs
    answer = Answer(
        "whatif-compare",
        "runs",
        ComparedRun,
        rows,
        summary={"runs": len(runs), "not_as_expected": sum(bool(run.differences) for run in runs)},
        warnings=_warnings(rows, compared.columns, [asked for asked, _ in variants]),
    )
    emit(answer, output, lambda console: _show(answer, runs, console))
    raise typer.Exit(compared.exit_code)


def _warnings(rows: Sequence[ComparedRun], columns: Sequence[Run | NotPlayed], asked: Sequence[str]) -> list[str]:
    from kreplica.scenarios.outcome_rows import NotPlayed, remarks

    told = zip(map(_title, rows), columns, asked, strict=True)
    played = ((title, run, version) for title, run, version in told if not isinstance(run, NotPlayed))
    return [f"{title}: {remark}" for title, run, version in played for remark in remarks(run, version)]


def _variants(
    scenario: Scenario, versions: str | None, choices: dict[str, list[Value]]
) -> list[tuple[str, dict[str, Value]]]:
    from kreplica.engine.versions.supported import version_named

    swept = any(len(values) > 1 for values in choices.values())
    names = _versions(scenario, swept) if versions is None else _each(versions)
    for name in names:
        version_named(name)
    combined = [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
    if len(names) * len(combined) > MOST_COLUMNS:
        raise UsageError(f"{len(names) * len(combined)} columns are too many", f"at most {MOST_COLUMNS}", "name fewer")
    return [(name, values) for name in names for values in combined]


def _choices(settings: list[str] | None, features: list[str] | None) -> dict[str, list[Value]]:
    """The values of each setting, each value once."""
    from kreplica.engine.settings import parse

    choices: dict[str, list[Value]] = {}
    for option, name, values in split_settings(settings, features):
        if name in choices:
            raise UsageError(f"{option} {name} is given twice", "", f"give its values at once: {option} {name}=A,B")
        choices[name] = list(dict.fromkeys(parse(name, value) for value in _each(values)))
    return choices


def _versions(scenario: Scenario, swept: bool) -> list[str]:
    """The versions of the scenario's cases; its default version alone where settings make the columns."""
    from kreplica.engine.versions.supported import order_of, version_named

    own = dict.fromkeys(case.version for case in scenario.cases)
    return [scenario.default_version] if swept else sorted(own, key=lambda name: order_of(version_named(name)))


def _each(text: str) -> list[str]:
    return list(dict.fromkeys(part.strip() for part in text.split(",")))


def _show(answer: Answer[ComparedRun], runs: list[Run], console: Console) -> None:
    from commands.shared.printing.screen import TableColumn, print_columns, print_lines, print_verdict
    from kreplica.model.tables.rows import names_of
    from kreplica.scenarios.rows import ComparedRun

    losing = sum(bool(row.lost) for row in answer.rows)
    left_out = [f"{_title(row)}: {row.not_played}" for row in answer.rows if row.not_played]
    word, color = _word(answer)
    print_verdict(console, word, color, f"{runs[0].scenario.name}: {losing} of {len(runs)} lose acknowledged records")
    console.print()
    shown = [name for name in names_of(ComparedRun)[4:-1] if name in _ALWAYS or _says_something(answer, name)]
    cells = [[name, *(_cell(name, getattr(row, name)) for row in answer.rows)] for name in shown]
    print_columns(console, [TableColumn(title) for title in ("", *map(_title, answer.rows))], cells)
    console.print()
    titles = [_title(row) for row in answer.rows if not row.not_played]
    pairs = zip(titles, runs, strict=True)
    print_lines(console, "not as", [f"{title}: {each}" for title, run in pairs for each in run.differences])
    print_lines(console, "left out", left_out)
    print_lines(console, "next", [f"kreplica whatif run {runs[0].scenario.name} --explain"], whole=True)


def _word(answer: Answer[ComparedRun]) -> tuple[str, str]:
    if sum(not row.not_played for row in answer.rows) == 1:
        return "ALONE", "yellow"
    return ("DIFFERS", "yellow") if _differ(answer) else ("SAME", "green")


def _says_something(answer: Answer[ComparedRun], name: str) -> bool:
    return any(getattr(row, name) not in ([], 0, None) for row in answer.rows)


def _differ(answer: Answer[ComparedRun]) -> bool:
    names = ("lost", "duplicated", "reordered", "diverged", "torn", "broken", "unavailable_ms", "read_only_ms")
    return len({tuple(str(getattr(row, name)) for name in names) for row in answer.rows if not row.not_played}) > 1


def _title(row: ComparedRun) -> str:
    from commands.shared.options.engine_settings import setting_texts

    told = [f"{name}={value}" for name, value in setting_texts(row.settings).items()]
    return " ".join([row.version, *told])


def _cell(name: str, value: object) -> object:
    from commands.whatif.records import some

    if isinstance(value, list) and value and name in _OF_RECORDS:
        return some([str(one) for one in value])
    return f"{value:g}" if isinstance(value, float) else value
