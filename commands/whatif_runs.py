"""kreplica whatif run --runs: many runs under random faults, counted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from commands.output import Answer, OutputFormat, Row, emit
from commands.screen import counted, print_lines, print_verdict
from commands.whatif_options import setting_options, shown_settings
from commands.whatif_run import plan_file, write_plan
from kreplica.errors import ExitCode

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.engine.settings import Value
    from kreplica.scenarios.many_runs import ManyRuns

RUN_COLUMNS = ("seed", "acknowledged", "faults", "wrong", "lost", "unavailable_ms", "trace_hash")


def run_many_times(
    name: str,
    kafka_version: str | None,
    settings: Mapping[str, Value],
    seed: int,
    runs: int,
    save_plan: Path | None,
    output: OutputFormat | None,
) -> None:
    """Plays, prints, and ends with 1 if a run failed."""
    from commands.progress import Progress
    from commands.whatif_answer import played_by
    from kreplica.engine.idle_settings import idle_settings
    from kreplica.engine.versions import version_named
    from kreplica.scenarios import scenario_named
    from kreplica.scenarios.many_runs import Job, run_many

    chosen = scenario_named(name)
    version = chosen.default_version if kafka_version is None else kafka_version
    rules = version_named(version)
    with Progress() as progress:
        many = run_many(Job(name, version, settings), seed, runs, told=progress.say)
    if save_plan is not None and many.smallest is not None:
        found = many.smallest
        write_plan(save_plan, plan_file(name, version, settings, found.seed, found.plan, found.leave_out))
    summary = _summary(name, version, settings, seed, many)
    answer = Answer(
        command="whatif-runs",
        rows_name="runs",
        columns=RUN_COLUMNS,
        rows=_rows(many),
        summary=summary,
        objects={"outcome": summary},
        warnings=[
            *([played_by(version, rules.name)] if version != rules.name else []),
            *idle_settings(chosen.setup, rules, settings),
            *([f"no run failed, so {save_plan} is not written"] if save_plan and many.smallest is None else []),
        ],
    )
    emit(answer, output, lambda console: _show(summary, settings, many, save_plan, console))
    raise typer.Exit(ExitCode.FINDINGS if many.smallest is not None else ExitCode.OK)


def _rows(many: ManyRuns) -> list[Row]:
    return [
        {
            "seed": verdict.seed,
            "acknowledged": verdict.acknowledged,
            "faults": verdict.faults,
            "wrong": list(verdict.wrong),
            "lost": verdict.lost,
            "unavailable_ms": verdict.unavailable_ms,
            "trace_hash": verdict.trace_hash,
        }
        for verdict in many.verdicts
    ]


def _summary(name: str, version: str, settings: Mapping[str, Value], seed: int, many: ManyRuns) -> Row:
    import json

    from msgspec import to_builtins

    from kreplica.engine.faults import plan_to_json
    from kreplica.scenarios.many_runs import is_failure

    smallest = many.smallest
    return {
        "scenario": name,
        "version": version,
        "settings": shown_settings(dict(settings)),
        "seed": seed,
        "runs": len(many.verdicts),
        "failing": sum(is_failure(verdict.wrong) for verdict in many.verdicts),
        "idle": many.idle,
        "wrong": dict(many.wrong),
        "smallest": None
        if smallest is None
        else {
            "seed": smallest.seed,
            "wrong": list(smallest.wrong),
            "plan": json.loads(plan_to_json(smallest.plan)),
            "leave_out": to_builtins(smallest.leave_out),
        },
    }


def _show(summary: Row, given: Mapping[str, Value], many: ManyRuns, save_plan: Path | None, console: Console) -> None:
    from commands.tables import print_table

    failing, runs = summary["failing"], summary["runs"]
    told = f"of {counted(int(str(runs)), 'run')} of {summary['scenario']} under Kafka {summary['version']}"
    if failing:
        print_verdict(console, "FAILS", "red", f"{failing} {told} lost acknowledged records or broke an invariant")
    else:
        print_verdict(console, "HOLDS", "green", f"none {told} lost an acknowledged record or broke an invariant")
    print_lines(console, "idle", [f"{many.idle} say nothing: no fault came about or nothing was acknowledged"])
    if many.wrong:
        console.print()
        color = console.is_terminal and not console.no_color
        print_table(["WHAT WENT WRONG", "RUNS"], [[name, number] for name, number in many.wrong.items()], color=color)
    if many.smallest is not None:
        _show_smallest(summary, given, many, save_plan, console)


def _show_smallest(
    summary: Row, given: Mapping[str, Value], many: ManyRuns, save_plan: Path | None, console: Console
) -> None:
    from kreplica.engine.fault_words import left_out_words, step_words

    smallest = many.smallest
    assert smallest is not None
    console.print()
    told = [step_words(step) for step in smallest.plan] or ["no fault at all"]
    told += [f"without {words}" for words in left_out_words(smallest.leave_out)]
    print_lines(console, "smallest", [f"seed {smallest.seed}, {', '.join(smallest.wrong)}:", *told])
    if save_plan is None:
        options = setting_options(given)
        line = f"kreplica whatif run {summary['scenario']} --kafka-version {summary['version']}{options}"
        again = f"{line} --seed {summary['seed']} --runs {summary['runs']} --save-plan plan.json"
    else:
        again = f"kreplica whatif run {summary['scenario']} --plan {save_plan} --explain"
    print_lines(console, "next", [again], whole=True)
