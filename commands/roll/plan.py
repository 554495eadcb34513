"""kreplica roll plan: a safe order of restarts in as few waves as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.options import BROKERS, LARGEST_INT32, OutputOption, SourceOptions, takes_sources
from commands.shared.stop_options import Accept, AcceptOption, AcceptTopicOption, one_cluster
from commands.shared.values import parse_ids
from kreplica.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from commands.shared.printing.output import Answer
    from kreplica.config.handle import ClusterHandle
    from kreplica.execution.roll.plan import RollDraft, RollPlan
    from kreplica.model.schema import Kind
    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.monitoring.clusters import Reading

COLUMNS = ("node", "wave", "rack", "leaders", "replicas", "voter", "active_controller", "state", "reason")


def register(app: typer.Typer) -> None:
    """Adds the command to the group."""
    app.command("plan", short_help="Which nodes may restart together, in as few waves as can be.")(plan)


@takes_sources
def plan(
    sources: SourceOptions,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the plan for `kreplica roll next`.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Let --out replace a file that is there.")] = False,
    broker: Annotated[
        list[str] | None, typer.Option("--broker", metavar=BROKERS, help="Only these nodes; all if not given.")
    ] = None,
    accept: AcceptOption = None,
    accept_topic: AcceptTopicOption = None,
    one_rack_at_a_time: Annotated[
        bool, typer.Option("--one-rack-at-a-time", help="No two racks in one wave, rack after rack.")
    ] = False,
    max_per_wave: Annotated[
        int | None,
        typer.Option("--max-per-wave", min=1, max=LARGEST_INT32, metavar="N", help="Most nodes in one wave."),
    ] = None,
    output: OutputOption = None,
) -> None:
    """Plan a rolling restart: which nodes may be down together without a partition that loses its leader, its last
    in-sync replica or min ISR, in as few waves as can be; voters of the quorum one at a time, the active controller
    in the last wave. Says how few waves there must be at least, and why.

    Exits 0 when every node is in a wave, 1 when some can never restart safely, cannot now or are down, 5 when every one
    is but something could not be read.
    """
    from commands.roll.screen import show_plan
    from commands.shared.printing.output import emit
    from commands.shared.stop_gate import FACETS, brokers_named
    from kreplica.execution.roll.plan import RollOptions, plan_roll, restartable_nodes
    from kreplica.health.gates import Freshness
    from kreplica.model.snapshot import utc_now
    from kreplica.monitoring.clusters import read_clusters

    options = RollOptions(Accept.rf_one in (accept or ()), accept_topic, one_rack_at_a_time, max_per_wave)
    handle = one_cluster(sources.handles(), "a plan is of one cluster")
    reading = read_clusters((handle,), FACETS, Freshness())
    snapshot = reading.snapshots[0]
    ids = brokers_named(snapshot, parse_ids(broker or ()), ())
    draft = plan_roll(snapshot, ids or restartable_nodes(snapshot), options, utc_now().isoformat())
    if out is not None:
        _write(handle, snapshot, draft.plan, out, force=force)
    answer = _answer(reading, draft, out)
    emit(answer, output, lambda console: show_plan(draft, snapshot, out, sources, console))
    raise typer.Exit(_exit_code(snapshot, draft))


def _write(handle: ClusterHandle, snapshot: ClusterSnapshot, plan: RollPlan, out: Path, *, force: bool) -> None:
    from kreplica.execution.journal import journal_path, set_aside
    from kreplica.execution.roll.plan import write_roll

    if snapshot.cluster_id is None:
        why = f"{handle.name} does not tell the id of its cluster"
        raise UsageError("no plan can be made of this", why, "use the live cluster or a dump of kreplica snapshot")
    if force:
        set_aside(out)
    elif journal_path(out).exists():
        raise UsageError(f"{journal_path(out)} is there already", "a plan of that name was begun", "give --force")
    write_roll(plan, out, replace=force)


def _exit_code(snapshot: ClusterSnapshot, draft: RollDraft) -> ExitCode:
    if draft.plan.held_back or draft.plan.down:
        return ExitCode.FINDINGS
    return ExitCode.INCOMPLETE if snapshot.gaps or draft.unknown else ExitCode.OK


def _answer(reading: Reading, draft: RollDraft, out: Path | None) -> Answer:
    from commands.shared.printing.output import Answer, cluster_object

    snapshot, plan = reading.snapshots[0], draft.plan
    words = {ExitCode.OK: "complete", ExitCode.FINDINGS: "partial", ExitCode.INCOMPLETE: "incomplete"}
    return Answer(
        command="roll-plan",
        rows_name="nodes",
        columns=COLUMNS,
        rows=_rows(snapshot, plan),
        clusters=[cluster_object(snapshot)],
        summary={
            "verdict": words[_exit_code(snapshot, draft)],
            "waves": [list(wave) for wave in plan.waves],
            "bound": asdict(plan.bound),
            "proven": plan.proven,
            "never": [one.node for one in plan.never],
            "blocked": [one.node for one in plan.blocked],
            "down": list(plan.down),
            "controller": plan.controller,
            "options": asdict(plan.options),
            "plan": None if out is None else str(out),
            "complete": not (snapshot.gaps or draft.unknown),
        },
        warnings=[*reading.warnings(), *draft.unknown],
        kinds=_kinds(),
    )


def _rows(snapshot: ClusterSnapshot, plan: RollPlan) -> list[dict[str, object]]:
    """Nodes in the order of the waves, then those that are in none."""
    import numpy as np

    leaders, replicas = snapshot.integers("leader").values, snapshot.lists("replicas").values
    voters = {row["node"] for row in snapshot.quorum.rows() if row["voter"]}
    placed: list[tuple[int, int | None, str, Sequence[str]]] = []
    placed += [(node, wave, "planned", ()) for wave, nodes in enumerate(plan.waves, start=1) for node in nodes]
    placed += [(one.node, None, "never", one.reasons) for one in plan.never]
    placed += [(one.node, None, "blocked", one.reasons) for one in plan.blocked]
    placed += [(node, None, "down", ()) for node in plan.down]
    return [
        {
            "node": node,
            "wave": wave,
            "rack": snapshot.racks.get(node),
            "leaders": int(np.count_nonzero(leaders == node)),
            "replicas": int(np.count_nonzero(replicas == node)),
            "voter": node in voters,
            "active_controller": node == plan.controller,
            "state": state,
            "reason": "; ".join(reasons) or None,
        }
        for node, wave, state, reasons in placed
    ]


def _kinds() -> dict[str, Kind]:
    from kreplica.model.schema import Kind

    kinds = dict.fromkeys(("node", "wave", "leaders", "replicas"), Kind.INT32)
    return (
        kinds
        | dict.fromkeys(("rack", "state", "reason"), Kind.STRING)
        | dict.fromkeys(("voter", "active_controller"), Kind.BOOL)
    )
