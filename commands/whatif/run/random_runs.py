"""kreplica whatif run --runs: many runs under random faults, counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from commands.shared.options.engine_settings import setting_options, shown_settings
from commands.shared.printing.output import Answer, OutputFormat, Row, emit
from commands.shared.printing.screen import print_lines, print_verdict
from commands.whatif.run.files import plan_file, write_plan
from kreplica.model.wording.words import counted
from kreplica.scenarios.rows import RandomRun

if TYPE_CHECKING:
    from rich.console import Console

    from commands.whatif.run.story import Story
    from kreplica.engine.checkers.partition_outcomes import PartitionOutcome
    from kreplica.engine.settings import Value
    from kreplica.scenarios.random_runs import ManyRuns


@dataclass(frozen=True, slots=True)
class _Played:
    """Results to show.

    Args:
        summary: Summary of the answer.
        settings: The settings that were given.
        many: Results of the runs.
        save_plan: The file for the smallest plan that fails; None if it is not written.
        story: The scenario that was played.
    """

    summary: Row
    settings: Mapping[str, Value]
    many: ManyRuns
    save_plan: Path | None
    story: Story


def run_many_times(
    story: Story,
    kafka_version: str | None,
    settings: Mapping[str, Value],
    seed: int,
    runs: int,
    save_plan: Path | None,
    output: OutputFormat | None,
) -> None:
    """Plays, prints, and exits 1 if a run failed."""
    from commands.shared.printing.progress import Progress
    from kreplica.engine.versions.ineffective_settings import idle_settings
    from kreplica.engine.versions.supported import version_named
    from kreplica.scenarios.outcome_rows import played_by
    from kreplica.scenarios.random_runs import Job, run_many

    chosen = story.scenario
    name = chosen.name
    version = story.version if kafka_version is None else kafka_version
    rules = version_named(version)
    with Progress() as progress:
        many = run_many(
            Job(name, version, settings, None if story.own is None else chosen), seed, runs, progress=progress.say
        )
    if save_plan is not None and many.smallest is not None:
        found = many.smallest
        write_plan(save_plan, plan_file(name, version, settings, found.seed, found.plan, found.leave_out))
    by_partition: Row = {} if story.own is None else {"partitions": _partition_rows(many)}
    summary = {**_summary(name, version, settings, seed, many), **by_partition}
    answer = Answer(
        command="whatif-runs",
        rows_name="runs",
        columns=RandomRun,
        rows=many.verdicts,
        summary=summary,
        objects={"outcome": summary},
        warnings=[
            *story.warnings,
            *([played_by(version, rules.name)] if version != rules.name else []),
            *idle_settings(chosen.setup, rules, settings),
            *([f"no run failed, so {save_plan} is not written"] if save_plan and many.smallest is None else []),
        ],
    )
    played = _Played(summary, settings, many, save_plan, story)
    emit(answer, output, lambda console: _show(played, console))
    raise typer.Exit(story.exit_code(many.smallest is not None))


def _summary(name: str, version: str, settings: Mapping[str, Value], seed: int, many: ManyRuns) -> Row:
    import json

    from msgspec import to_builtins

    from kreplica.engine.checkers.invariants import PROMISES
    from kreplica.engine.fault_plan import plan_to_json
    from kreplica.scenarios.random_runs import is_failure

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
        "invariants": [
            {"name": str(name), "promise": promise, "runs": many.wrong.get(str(name), 0)}
            for name, promise in PROMISES.items()
        ],
        "smallest": None
        if smallest is None
        else {
            "seed": smallest.seed,
            "wrong": list(smallest.wrong),
            "plan": json.loads(plan_to_json(smallest.plan)),
            "leave_out": to_builtins(smallest.leave_out),
        },
    }


def _partition_rows(many: ManyRuns) -> list[Row]:
    """For each partition: the number of runs with lost or unreadable records, and its longest times out of use."""
    found: dict[str, list[PartitionOutcome]] = {}
    for one in many.harmed:
        found.setdefault(one.partition, []).append(one)
    return [
        {
            "partition": partition,
            "runs_lost": sum(bool(one.lost) for one in runs),
            "runs_unseen": sum(bool(one.unseen) for one in runs),
            "without_leader_ms_max": max(one.without_leader_ms for one in runs),
            "read_only_ms_max": max(one.read_only_ms for one in runs),
        }
        for partition, runs in sorted(found.items())
    ]


def _show_partitions(rows: object, console: Console) -> None:
    from commands.shared.printing.screen import TableColumn, print_columns

    assert isinstance(rows, list)
    columns = [
        TableColumn("PARTITION"),
        TableColumn("RUNS THAT LOST"),
        TableColumn("RUNS UNREADABLE", drop=2),
        TableColumn("MOST MS WITHOUT LEADER"),
        TableColumn("MOST MS UNDER MIN ISR", drop=1),
    ]
    console.print()
    print_columns(console, columns, [list(row.values()) for row in rows])


def _show(played: _Played, console: Console) -> None:
    from commands.shared.printing.screen import TableColumn, print_columns
    from kreplica.engine.checkers.invariants import PROMISES

    summary, many = played.summary, played.many
    failing, runs = summary["failing"], summary["runs"]
    told = f"of {counted(int(str(runs)), 'run')} of {summary['scenario']} under Kafka {summary['version']}"
    if failing:
        print_verdict(console, "FAILS", "red", f"{failing} {told} lost acknowledged records or broke an invariant")
    else:
        print_verdict(console, "HOLDS", "green", f"none {told} lost an acknowledged record or broke an invariant")
    print_lines(console, "idle", [f"{many.idle} say nothing: no fault came about or nothing was acknowledged"])
    if many.wrong:
        console.print()
        promises = {str(name): f"broken: {promise}" for name, promise in PROMISES.items()}
        rows = [[name, number, promises.get(name, "")] for name, number in many.wrong.items()]
        columns = [TableColumn("WHAT WENT WRONG"), TableColumn("RUNS"), TableColumn("PROMISE", fold=True)]
        print_columns(console, columns, rows)
    if summary.get("partitions"):
        _show_partitions(summary["partitions"], console)
    if many.smallest is not None:
        _show_smallest(played, console)


def _show_smallest(played: _Played, console: Console) -> None:
    from kreplica.engine.plans.text import left_out_words, step_words

    smallest, summary = played.many.smallest, played.summary
    assert smallest is not None
    console.print()
    told = [step_words(step) for step in smallest.plan] or ["no fault at all"]
    told += [f"without {words}" for words in left_out_words(smallest.leave_out)]
    print_lines(console, "smallest", [f"seed {smallest.seed}, {', '.join(smallest.wrong)}:", *told])
    if played.save_plan is None:
        options = setting_options(played.settings)
        line = f"kreplica whatif run {played.story.words} --kafka-version {summary['version']}{options}"
        again = f"{line} --seed {summary['seed']} --runs {summary['runs']} --save-plan plan.json"
    else:
        again = f"kreplica whatif run {played.story.words} --plan {played.save_plan} --explain"
    print_lines(console, "next", [again], whole=True)
