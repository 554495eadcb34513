"""kreplica whatif run: plays a scenario, shows every step, and compares the outcome with the expected one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption, TopicOption
from commands.shared.options.engine_settings import FeatureOption, SetOption, parse_settings
from commands.shared.printing.output import OutputFormat
from commands.whatif.options import SEED_HELP, FromOption, OptionalScenarioArgument, VersionOption, of_scenario
from commands.whatif.run.files import plan_file, write_file, write_plan
from kreplica.errors import UsageError, os_reason
from kreplica.model.wording.nearest_names import nearest_or_known

if TYPE_CHECKING:
    from commands.shared.printing.output import Answer
    from commands.whatif.run.story import Story
    from commands.whatif.run.view import View
    from kreplica.engine.plans.file import PlanFile
    from kreplica.engine.settings import Value
    from kreplica.scenarios.playing import Run
    from kreplica.scenarios.rows import TimelineStep

RunSeedOption = Annotated[
    int | None,
    typer.Option("--seed", min=0, metavar="N", help=f"{SEED_HELP} 0 or the plan's if not given."),
]
RunsOption = Annotated[
    int | None,
    typer.Option(
        "--runs", min=1, max=1_000_000, metavar="N", help="Play it N times under random faults and count the verdicts."
    ),
]
PlanOption = Annotated[
    Path | None,
    typer.Option("--plan", metavar="FILE", help="Play this plan, of its own scenario or the named one."),
]
SavePlanOption = Annotated[
    Path | None,
    typer.Option(
        "--save-plan",
        metavar="FILE",
        help="Write the plan; with --runs the smallest failing one.",
    ),
]
ExplainOption = Annotated[
    bool, typer.Option("--explain", help="Each step as a sentence with the rule of the protocol that acted.")
]
SvgOption = Annotated[
    Path | None,
    typer.Option("--svg", metavar="FILE", help="Write a picture: verdict, logs step by step, space-time diagram."),
]
WhyOption = Annotated[
    str | None,
    typer.Option(
        "--why",
        metavar="RECORD",
        help="Explain why a record is lost, doubled, unseen or there, by the events behind it.",
    ),
]
AfterOption = Annotated[
    str | None,
    typer.Option("--after", metavar="TIME", help="Show events from then on: 14.5s or 14504.5ms into the run."),
]
BeforeOption = Annotated[
    str | None, typer.Option("--before", metavar="TIME", help="Show events up to then, in the same form.")
]
PartitionOption = Annotated[
    str | None,
    typer.Option(
        "--partition", metavar="TOPIC-N", help="Partition whose steps and logs are shown.  [default: the first]"
    ),
]


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "run",
        short_help="Play a scenario and show every step.",
        epilog=examples(
            "kreplica whatif run hw-truncation-loss --kafka-version 0.10 --explain",
            "kreplica whatif run --from sample-healthy --topic orders --runs 20",
        ),
    )(run)


def run(
    scenario: OptionalScenarioArgument = None,
    from_dump: FromOption = None,
    topic: TopicOption = None,
    kafka_version: VersionOption = None,
    settings: SetOption = None,
    feature: FeatureOption = None,
    seed: RunSeedOption = None,
    runs: RunsOption = None,
    plan: PlanOption = None,
    save_plan: SavePlanOption = None,
    partition: PartitionOption = None,
    explain: ExplainOption = False,
    why: WhyOption = None,
    after: AfterOption = None,
    before: BeforeOption = None,
    svg: SvgOption = None,
    output: OutputOption = None,
) -> None:
    """Play a scenario under a version of Kafka and show how offsets and high watermarks move, and what is lost.

    --runs plays its cluster and clients with random faults instead: verdicts are counted, and the first failing plan is
    made as small as possible. The result is the same on any number of cores. --from takes the cluster from a snapshot,
    and the faults from --plan or --runs.

    Exits 0; 1 when the outcome is not the one that the scenario expects, or with --runs or --from when a run lost
    acknowledged records or broke an invariant; 2 when the scenario, a setting or a file cannot be used; 5 with --from
    when nothing was lost as far as is known, but the snapshot lacks facts that decide it.
    """
    from commands.whatif.run.story import story_of

    values = parse_settings(settings, feature)
    file = None if plan is None else _read_plan(plan)
    if scenario is None and from_dump is None and file is not None:
        scenario = _scenario_of(file)
    story = story_of(scenario, from_dump, topic, kafka_version, "" if file is None else file.kafka_version)
    if runs is not None:
        _refuse_with_runs(
            {
                "--plan": plan,
                "--partition": partition,
                "--explain": explain or None,
                "--svg": svg,
                "--why": why,
                "--after": after,
                "--before": before,
            }
        )
        from commands.whatif.run.random_runs import run_many_times

        return run_many_times(story, kafka_version, values, seed or 0, runs, save_plan, output)
    from commands.whatif.run.view import View, window

    first, last = window(after, before)
    rows = output not in (None, OutputFormat.table)
    if file is not None and plan is not None:
        _check_plan(story, file, plan)
    view = View(story, partition, explain, why, first, last, svg, plan, timeline=rows)
    return _run_once(view, file, kafka_version, values, seed, save_plan, output)


def _refuse_with_runs(given: Mapping[str, object]) -> None:
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"{name} does not go with --runs", "it is about one run", "leave one of them out")


def _run_once(
    view: View,
    file: PlanFile | None,
    kafka_version: str | None,
    settings: Mapping[str, Value],
    seed: int | None,
    save_plan: Path | None,
    output: OutputFormat | None,
) -> None:
    from commands.shared.printing.output import emit
    from commands.whatif.run.answer import run_answer
    from commands.whatif.run.screen import show_run
    from kreplica.engine.plans.omissions import LeaveOut, without
    from kreplica.scenarios.playing import play

    story, chosen = view.story, view.story.scenario
    if file is not None:
        chosen = replace(chosen, setup=without(chosen.setup, file.leave_out))
        kafka_version = file.kafka_version or None if kafka_version is None else kafka_version
        seed = file.seed if seed is None else seed
    values = {**(_settings_of(file) if file else {}), **settings}
    played = play(
        chosen,
        story.version if kafka_version is None else kafka_version,
        values,
        seed or 0,
        None if file is None else file.steps,
    )
    view = replace(view, partition=_partition(played, view.partition))
    answer: Answer[TimelineStep] = run_answer(played, view, kafka_version)
    if view.svg is not None:
        _write_svg(view.svg, played, view)
    if save_plan is not None:
        leave_out = LeaveOut() if file is None else file.leave_out
        write_plan(save_plan, plan_file(chosen.name, played.version.name, values, played.seed, played.plan, leave_out))
    emit(answer, output, lambda console: show_run(played, view, console))
    raise typer.Exit(story.exit_code(bool(played.differences) if story.own is None else not played.outcome.is_safe))


def _partition(played: Run, asked: str | None) -> str | None:
    """The partition that is asked for.

    Raises:
        UsageError: There is none of that name.
    """
    known = [name for topic in played.scenario.setup.topics for name in topic.partitions]
    if asked is not None and asked not in known:
        raise UsageError(f"the scenario has no partition {asked!r}", "", nearest_or_known(asked, known))
    return asked


def _scenario_of(file: PlanFile) -> str | None:
    """The scenario that a plan names; None if it names none of the library."""
    from kreplica.scenarios import OWN_CLUSTER

    return None if file.scenario in ("", OWN_CLUSTER) else file.scenario


def _read_plan(path: Path) -> PlanFile:
    """The plan of a file.

    Raises:
        UsageError: It cannot be read, or is no plan.
    """
    from kreplica.engine.plans.file import plan_file_from_json
    from kreplica.system.untrusted_files import read_whole

    try:
        content = read_whole(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}", os_reason(error)) from None
    return plan_file_from_json(content, str(path))


def _check_plan(story: Story, file: PlanFile, path: Path) -> None:
    """Refuses a plan of another scenario."""
    if file.scenario not in ("", story.scenario.name):
        again = f"kreplica whatif run {of_scenario(file.scenario)} --plan {path}"
        raise UsageError(f"{path} is a plan of {file.scenario}, not of {story.scenario.name}", "", again)


def _settings_of(file: PlanFile) -> dict[str, Value]:
    from kreplica.engine.settings import parse

    return {name: parse(name, text) for name, text in file.settings.items()}


def _write_svg(file: Path, played: Run, view: View) -> None:
    from commands.whatif.run.verdict import heading_of
    from kreplica.report.svg.run import run_picture

    told = played.outcome.histories
    drawn = run_picture(
        heading_of(played), played.events, view.partition, told.lost, told.duplicated, view.first, view.last
    )
    write_file(file, drawn.encode())
