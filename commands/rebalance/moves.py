"""Plans of replicas on the command line: carried out, cancelled, rolled back, looked at, and printed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from commands.rebalance.options import RateOptions, parse_rate, tell
from commands.rebalance.plan import plan_line, plan_summary
from commands.shared.confirm import confirm
from commands.shared.patience import patient_interrupts
from commands.shared.printing.terminal import print_err
from kreplica.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import OutputFormat
    from kreplica.config.handle import ClusterHandle
    from kreplica.execution.moves.carrying_out import CarryOutOptions, MoveOutcome
    from kreplica.execution.moves.plan_state import MovePlanState
    from kreplica.execution.moves.session import MoveOptions
    from kreplica.execution.moves.throttles.rate_changes import Throttle

MEASURE_SECONDS = 5.0
"""Seconds for which is measured what is written to the partitions of a plan, where a throttle is given."""

NONE, AUTO = "none", "auto"


def is_plan_of_replicas(path: Path) -> bool:
    """True if the file holds a plan of replicas; asked before the cluster is named.

    Raises:
        InputError: The file cannot be read, or is no plan.
    """
    from kreplica.execution.moves.plans.plan_file import plan_kind
    from kreplica.execution.plan import PlanKind

    return plan_kind(path) is PlanKind.REPLICAS


def require_plan_of_replicas(path: Path, why: str) -> None:
    """Refuses a plan of leaders.

    Args:
        path: The plan's file.
        why: What a plan of leaders lacks, in a clause.

    Raises:
        InputError: The file cannot be read, or is no plan.
        UsageError: It is a plan of leaders.
    """
    if not is_plan_of_replicas(path):
        raise UsageError(f"{path} is no plan of replicas", why)


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """A request about a plan of replicas.

    Args:
        path: The plan's file.
        handle: The cluster.
        connection_options: The options that name it.
        execute: Whether to change the cluster.
        yes: Whether to skip the confirmation.
        rate: Throttle and longest wait as typed.
        elect: Whether preferred leaders that the plan changes are elected at the end.
        keep_cordon: Whether brokers that the plan drains stay cordoned.
    """

    path: Path
    handle: ClusterHandle
    connection_options: str
    execute: bool
    yes: bool = False
    rate: RateOptions = field(default_factory=RateOptions)
    elect: bool = True
    keep_cordon: bool = False


def refuse_other_options(options: Mapping[str, object], kind: str) -> None:
    """Refuses options that a plan of this kind does not have.

    Raises:
        UsageError: One was given.
    """
    given = [name for name, value in options.items() if value]
    if given:
        raise UsageError(f"{given[0]} is not for a plan of {kind}", "", "leave it out")


def run_of(rate: RateOptions, *, needs_throttle: bool, through_controllers: bool = False) -> MoveOptions:
    """Options of a run, from those that were typed.

    Args:
        rate: Throttle and longest wait as typed.
        needs_throttle: Whether a throttle has to be given.
        through_controllers: Whether throttles of brokers that are down are put back by the controllers.

    Raises:
        UsageError: No throttle was given and one has to be, or one cannot be read.
    """
    from commands.shared.values import parse_duration
    from kreplica.execution.moves.session import MoveOptions

    if needs_throttle and rate.throttle is None:
        raise UsageError(
            "a plan of replicas is carried out under a throttle",
            "--throttle is not given",
            "give --throttle 50MB for each broker, --throttle auto or --throttle none",
        )
    options = MoveOptions(throttle=_throttle(rate), tell=tell, through_controllers=through_controllers)
    if rate.max_wait is not None:
        options = replace(options, max_wait=parse_duration(rate.max_wait, "--max-wait", least=1.0))
    return options


def _throttle(rate: RateOptions) -> Throttle:
    """The throttle as typed.

    Raises:
        UsageError: It is no rate, or its bounds are none.
    """
    from kreplica.execution.moves.throttles.automatic_rate import DEFAULT_BOUNDS, RateBounds

    bounds = [name for name, text in (("--min", rate.least), ("--max", rate.most)) if text is not None]
    if rate.throttle != AUTO and bounds:
        raise UsageError(f"{bounds[0]} is for --throttle {AUTO}", "", f"give --throttle {AUTO}, or leave it out")
    if rate.throttle is None or rate.throttle == NONE:
        return None
    if rate.throttle != AUTO:
        return parse_rate(rate.throttle, "--throttle")
    least = DEFAULT_BOUNDS.least if rate.least is None else parse_rate(rate.least, "--min")
    most = DEFAULT_BOUNDS.most if rate.most is None else parse_rate(rate.most, "--max")
    if least > most:
        raise UsageError(
            f"--min is above --max: {least} and {most} bytes a second", "", "give both, the lower one first"
        )
    return RateBounds(least, most)


def carried_out(request: MoveRequest, run: MoveOptions, work: Callable[[CarryOutOptions], MoveOutcome]) -> MoveOutcome:
    """Carries a plan out: asks before the first change; the first Ctrl-C begins nothing more, a second one leaves."""
    from kreplica.execution.moves.carrying_out import CarryOutOptions

    again = f"{plan_line(request.path, 'resume', request.connection_options)} {_run_words(request)} --execute"
    begun: list[bool] = []

    def ask(label: str, change: str) -> None:
        confirm(request.handle, label, change, yes=request.yes)
        begun.append(True)

    def warn(text: str) -> None:
        print_err(f"warning: {text}")  # the answer says it again, but only after the run

    def said() -> None:
        if begun:
            print_err("nothing more begins; what is in flight finishes, then the throttles are put back")
        else:
            raise KeyboardInterrupt

    with patient_interrupts(said) as stopping:
        try:
            run = replace(run, stopping=stopping)
            ends = {"elect": request.elect, "keep_cordon": request.keep_cordon}
            return work(CarryOutOptions(run, ask, warn, MEASURE_SECONDS, **ends))
        except KeyboardInterrupt:
            if begun:
                print_err(f"what is in flight goes on under its throttles; next {again}")
            raise


def answer_moves(outcome: MoveOutcome, command: str, output: OutputFormat | None, request: MoveRequest) -> NoReturn:
    """Prints the answer of a command on a plan of replicas and exits."""
    from commands.shared.printing.output import Answer, cluster_object, emit
    from kreplica.execution.moves.rows import MoveRow

    state = outcome.state
    answer = Answer(
        command=f"rebalance-{command}",
        rows_name="moves",
        columns=MoveRow,
        rows=outcome.rows,
        clusters=[cluster_object(state.snapshot)] if state.snapshot is not None else [],
        summary=_summary(outcome),
        warnings=[*_gaps(state), *outcome.warnings, *outcome.remarks],
    )
    emit(answer, output, lambda console: _show(outcome, command, console, request))
    raise typer.Exit(outcome.exit_code)


def _gaps(state: MovePlanState) -> list[str]:
    return [gap.message for gap in state.snapshot.gaps] if state.snapshot is not None else []


def _summary(outcome: MoveOutcome) -> dict[str, object]:
    state = outcome.state
    return {
        **plan_summary(state, executed=outcome.executed),
        "moves": len(outcome.rows),
        "bytes": sum(row.size or 0 for row in outcome.rows),
        "bytes_left": sum(row.bytes_left or 0 for row in outcome.rows),
        "seconds_left": state.seconds_left(),
        "throttle": state.rate,
        "states": outcome.counts,
        "rollback": outcome.rollback_counts,
        "others": [f"{topic}-{number}" for topic, number in state.others],
        "throttles_owed": bool(state.progress.owed),
        "stopped": state.progress.message,
    }


_ADDED_UP = ("bytes", "bytes_left", "offset_lag")
_IN_FLIGHT = ("bytes_left", "offset_lag")
"""Columns that are shown where a row has something there."""


def _show(outcome: MoveOutcome, command: str, console: Console, request: MoveRequest) -> None:
    from commands.rebalance.verdict import plan_word, print_plan_verdict
    from commands.shared.printing.screen import print_gathered, print_lines
    from commands.shared.values import size_words, spell_duration
    from kreplica.execution.moves.rows import MoveRow
    from kreplica.model.tables.rows import names_of
    from kreplica.model.wording.words import listed, rate_words

    state = outcome.state
    hidden = set() if outcome.rollback_counts else {"rollback"}
    hidden |= set() if state.plan.changed_directories else {"directories"}
    hidden |= {name for name in _IN_FLIGHT if all(getattr(row, name) is None for row in outcome.rows)}
    shown = tuple(name for name in names_of(MoveRow) if name not in hidden)
    sizes = dict.fromkeys(("bytes", "bytes_left"), lambda size: None if size is None else size_words(size))
    cells = {**sizes, "reason": lambda text: text or None}
    word = plan_word(outcome.exit_code, executed=outcome.executed, left=outcome.is_left)
    print_plan_verdict(console, word, _verdict(outcome, command))
    print_gathered(console, MoveRow, outcome.rows, shown=shown, cells=cells, sums=_ADDED_UP)
    if state.others:
        names = [f"{topic}-{number}" for topic, number in state.others]
        print_lines(console, "others", [f"somebody else moves {listed(names, 3)}: left alone"])
    seconds = state.seconds_left()
    if seconds:
        time_left = spell_duration(max(1.0, seconds // 1))
        print_lines(console, "left", [f"{time_left} of copying at least, at {rate_words(state.rate or 0)}"])
    print_lines(console, "stopped", [state.progress.message] * bool(state.progress.message))
    print_lines(console, "next", _next(outcome, command, request), whole=True)


def _verdict(outcome: MoveOutcome, command: str) -> str:
    state = outcome.state
    counts = outcome.current_counts
    parts = ", ".join(f"{count} {name}" for name, count in counts.items()) or "nothing to do"
    if outcome.executed or command == "status":
        return f"{state.phase_words}: {parts}"
    return f"{state.phase_words}: {parts}; nothing was changed"


def _next(outcome: MoveOutcome, command: str, request: MoveRequest) -> list[str]:
    from kreplica.execution.plan_journal import Phase

    state = outcome.state
    phase = state.progress.phase
    if state.running or not outcome.is_left:
        return []
    if command in ("cancel", "rollback") and not outcome.executed:
        flags = " --execute" if command == "cancel" else f" {_run_words(request)} --execute"
        return [plan_line(request.path, command, request.connection_options) + flags]
    again = "apply" if phase is Phase.NEW else "resume"
    return [f"{plan_line(request.path, again, request.connection_options)} {_run_words(request)} --execute"]


def _run_words(request: MoveRequest) -> str:
    """The options of a run as they were given, for a next one; without a throttle RATE stands for it."""
    given = request.rate.given() | {"--throttle": request.rate.throttle or "RATE"}
    words = [shlex.join((name, str(text))) for name, text in given.items() if text is not None]
    flags = {"--no-elect": not request.elect, "--keep-cordon": request.keep_cordon}
    return " ".join([*words, *(name for name, is_given in flags.items() if is_given)])
