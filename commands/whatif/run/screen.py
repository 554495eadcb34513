"""whatif run on the screen: verdict, step table, space-time diagram, logs as coloured strips, sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from commands.shared.options.engine_settings import setting_options
from commands.shared.printing.screen import print_lines, print_verdict, print_wrapped
from commands.whatif.options import pairs
from commands.whatif.records import MOST_VALUES
from commands.whatif.run.verdict import title_of, verdict

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from commands.shared.printing.screen import TableColumn
    from commands.whatif.run.view import View
    from kreplica.report.log_strips import Piece, Strip
    from kreplica.report.step_table import Step
    from kreplica.scenarios.playing import Run

MOST_LINES = 120
"""Lines of a table or diagram; longer ones are left to ``-o json``, with a note."""


_COLORS = ("blue", "dark_orange", "green", "magenta", "red", "cyan", "yellow")


def show_run(run: Run, view: View, console: Console) -> None:
    """Prints one run: with ``--why`` the causes, otherwise the step table, and the diagram or sentences.

    Args:
        run: The run.
        view: The part of it that is shown.
        console: To print on.
    """
    from commands.whatif.run.story import show_partitions

    word, color, sentence = verdict(run)
    print_verdict(console, word, color, f"{sentence} ({title_of(run)})")
    if view.story.own is None:
        print_lines(console, "why", [run.why] if run.why else [])
        print_lines(console, "expected", _expected(run))
    print_lines(console, "broken", [_finding(run, number) for number in range(len(run.outcome.findings))])
    if view.story.own is not None:
        show_partitions(view.story, view.story.partitions(run), console)
    if view.story.own is None or view.partition is not None or view.explain or view.why is not None:
        _show_details(run, view, console)
    console.print()
    print_lines(console, "svg", [str(view.svg)] if view.svg is not None else [])
    print_lines(console, "next", _next(run, view), whole=True)


def _show_details(run: Run, view: View, console: Console) -> None:
    from kreplica.report.log_strips import log_strips
    from kreplica.report.step_table import step_table

    if view.why is not None:
        _print_causes(run, view.why, console)
    else:
        partition = view.partition or next(iter(run.scenario.setup.topics[0].partitions))
        steps = [step for step in step_table(run.events, partition) if view.shows(step.time)]
        _print_step_table(steps, partition, console)
        (_print_sentences if view.explain else _print_diagram)(run, view, console)
    _print_strips(log_strips(run.events, view.last), "at the end" if view.last is None else "then", console)


def _expected(run: Run) -> list[str]:
    if run.case is None:
        return ["nobody says what must come out of these settings, this version and this plan"]
    if run.differences:
        return [f"NOT as the scenario says for {run.case.version}: {each}" for each in run.differences]
    return [f"as the scenario says for {run.case.version}: {pairs(run.case.expected)}"]


def _finding(run: Run, number: int) -> str:
    found = run.outcome.findings[number]
    place = f" at offset {found.offset}" if found.offset >= 0 else ""
    return (
        f"{found.invariant}: {found.partition}{place} on {found.node} after {found.time / 1000:g} ms:"
        f" expected {found.expected}, found {found.found}"
    )


def _print_step_table(steps: Sequence[Step], partition: str, console: Console) -> None:
    from commands.shared.printing.screen import print_columns

    console.print(f"\nOffsets of {partition}, step by step (LEO log end offset, HW high watermark)")
    shown = steps[:MOST_LINES]
    names = sorted({name for step in shown for name in (*step.follower_leo, step.leader) if name})
    print_columns(console, _step_columns(), [_step_cells(step, names) for step in shown])
    _say_left_out(len(steps), console, "steps")


def _step_columns() -> list[TableColumn]:
    """Columns of the step table; on a narrow terminal what the leader knows of its followers goes first."""
    from commands.shared.printing.screen import TableColumn

    return [
        TableColumn("MS"),
        TableColumn("WHERE"),
        TableColumn("WHAT", fold=True),
        TableColumn("LEADER", drop=2),
        TableColumn("LEADER LEO"),
        TableColumn("REMOTE LEO", drop=1),
        TableColumn("LEADER HW"),
        TableColumn("FOLLOWER LEO", drop=4),
        TableColumn("FOLLOWER HW", drop=3),
    ]


def _step_cells(step: Step, names: Sequence[str]) -> list[object]:
    def each(offsets: Mapping[str, int | None]) -> str:
        told = [(name.rpartition("-")[2], offsets[name]) for name in names if name in offsets]
        several = len(names) > 2 or len(told) > 1
        return " ".join(
            (f"{name}:" if several else "") + ("-" if value is None else str(value)) for name, value in told
        )

    return [
        f"{step.time / 1000:.3f}",
        step.node,
        step.what,
        step.leader or None,
        step.leader_leo,
        each(step.remote_leo) or None,
        step.leader_hw,
        each(step.follower_leo) or None,
        each(step.follower_hw) or None,
    ]


def _print_diagram(run: Run, view: View, console: Console) -> None:
    from kreplica.report.moments import moments
    from kreplica.report.space_time import space_time

    told = [moment for moment in moments(run.events) if view.shows(moment.time)]
    console.print("\nSpace and time (messages that did something)")
    width = console.width if console.is_terminal else None
    for line in space_time(told[:MOST_LINES], width):
        console.print(line.rstrip(), soft_wrap=True, markup=False, highlight=False)
    _say_left_out(len(told), console, "moments")


def _say_left_out(number: int, console: Console, noun: str) -> None:
    if number > MOST_LINES:
        console.print(f"… {number - MOST_LINES} more {noun}: -o jsonl has every one")


def _print_sentences(run: Run, view: View, console: Console) -> None:
    from kreplica.report.explain import explain

    sentences = [told for told in explain(run.events) if view.shows(told.time)]
    console.print("\nStep by step, with the rule that acted")
    for told in sentences:
        _print_sentence(told.time, told.text, told.rule, console)
    _print_rules([told.rule for told in sentences], console)


def _print_causes(run: Run, value: str, console: Console) -> None:
    from commands.whatif.run.verdict import why_of

    found = why_of(run, value)
    console.print()
    print_wrapped(console, "", found.conclusion)
    for cause in found.causes:
        note = f" ({cause.note})" if cause.note else ""
        _print_sentence(cause.time, cause.text + note, cause.rule, console)
    _print_rules([cause.rule for cause in found.causes], console)


def _print_sentence(time: int, text: str, rule: str, console: Console) -> None:
    lead = f"{time / 1000:>12.3f} ms  "
    print_wrapped(console, lead, f"{text}{f'  [{rule}]' if rule else ''}")


def _print_rules(rules: Sequence[str], console: Console) -> None:
    from kreplica.report.explain import rule_link, rule_source, rule_summary

    console.print("\nThe rules")
    for rule in dict.fromkeys(rule for rule in rules if rule):
        places = "; ".join(place for place in (rule_source(rule), rule_link(rule)) if place)
        print_wrapped(console, "  ", f"{rule}  {rule_summary(rule)} ({places})", further=4)


def _print_strips(strips: Sequence[Strip], when: str, console: Console) -> None:
    console.print(f"\nLogs {when}, by leader epoch (| is the high watermark)")
    width = max((len(_head(strip)) for strip in strips), default=0)
    for strip in strips:
        console.print(_strip_text(strip, width))


def _head(strip: Strip) -> str:
    role = " leader" if strip.leads else "" if strip.running else " down"
    return f"{strip.node} {strip.partition}{role}"


def _strip_text(strip: Strip, width: int) -> Text:
    from rich.text import Text

    text = Text(f"{_head(strip):<{width}}  ")
    if strip.high_watermark == 0:
        text.append("|", "bold")
    for piece in strip.pieces:
        color = _COLORS[piece.epoch % len(_COLORS)]
        text.append(f" e{piece.epoch}:", color)
        _append_piece(text, piece, strip.high_watermark, f"white on {color}")
    return text


def _append_piece(text: Text, piece: Piece, high_watermark: int | None, style: str) -> None:
    if len(piece.values) > MOST_VALUES:
        text.append(f" {piece.start} to {piece.end - 1} ", style)
        if high_watermark is not None and piece.start < high_watermark <= piece.end:
            text.append(f"|{high_watermark}", "bold")
        return
    for offset, value in enumerate(piece.values, start=piece.start):
        text.append(f" {value} ", style)
        if offset + 1 == high_watermark:
            text.append("|", "bold")


def _next(run: Run, view: View) -> list[str]:
    name, plan = view.story.words, view.plan
    again = "" if run.version.name == view.story.version else f" --kafka-version {run.version.name}"
    again += setting_options(run.settings)
    again = again if plan is None else f" --plan {plan}"
    seed = f" --seed {run.seed}" if run.seed and plan is None else ""
    odd = next(
        iter((*run.outcome.histories.lost, *run.outcome.histories.duplicated, *run.outcome.histories.unseen)), ""
    )
    lines = [f"kreplica whatif run {name}{again}{seed} --why {odd}"] if odd and view.why is None else []
    if not view.explain:
        lines.append(f"kreplica whatif run {name}{again}{seed} --explain")
    if plan is not None:
        return lines
    if len({case.version for case in run.scenario.cases}) > 1:
        lines.append(f"kreplica whatif compare {name}")
    return [*lines, f"kreplica whatif run {name}{again} --runs {1000 if view.story.own is None else 100}"]
