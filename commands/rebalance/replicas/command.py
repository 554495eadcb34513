"""kreplica rebalance replicas: which replicas would move for a reason, and a plan that moves them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from commands.rebalance.options import one_cluster
from commands.rebalance.replicas.options import InFlightOptions, LimitOptions, PlanOptions, ScopeOptions
from commands.rebalance.replicas.reasons import ReasonOptions
from commands.shared.help import examples
from commands.shared.options.common import OutputOption, SourceOptions, takes_sources
from commands.shared.options.groups import takes
from commands.shared.values import parse_ids, parse_percent, parse_size
from kreplica.errors import UsageError

if TYPE_CHECKING:
    from kreplica.execution.moves.plans.reassignment_json import NamedReassignments
    from kreplica.planner.reassignment.request import Request


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "replicas",
        short_help="Plan moves of replicas, the fewest for a reason.",
        epilog=examples(
            "kreplica rebalance replicas --drain 3 --dump sample-healthy",
            "kreplica rebalance replicas --balance leaders --dump sample-healthy --reassignment-json moves.json",
        ),
    )(replicas)


@takes_sources
@takes("reasons", ReasonOptions)
@takes("scope", ScopeOptions)
@takes("limits", LimitOptions)
@takes("plan", PlanOptions)
@takes("in_flight", InFlightOptions)
def replicas(
    sources: SourceOptions,
    reasons: ReasonOptions,
    scope: ScopeOptions,
    limits: LimitOptions,
    plan: PlanOptions,
    in_flight: InFlightOptions,
    output: OutputOption = None,
) -> None:
    """Plan moves of replicas for the given reasons, as few as possible; nothing is changed.

    Repair, drain, add, racks, replication factor and --balance count are planned together. Then come balances of
    topics, bytes and weights in the order given; a later one never undoes an earlier one. Then comes relief, and last
    the order of leaders, which copies nothing.

    Replicas never go to a broker that is dead or fenced, nor to a log directory that would become fuller than
    --max-disk-used while both copies are there. The last replica in sync stays where it is. Partitions without a
    leader, and those that are being reassigned, are named and left out. So is a move during which one more failing
    broker (--margin) would put the partition in danger.

    Exits 1 when something that was asked for is left out, 5 when not everything could be read.
    """
    from commands.rebalance.replicas.answer import answer
    from commands.rebalance.replicas.picture import write_picture
    from commands.rebalance.replicas.screen import show
    from commands.shared.printing.output import emit
    from kreplica.execution.rebalance.replicas import rebalance_replicas
    from kreplica.planner.reassignment.planning import PlanningLimits
    from kreplica.system.output_files import require_free

    wanted = _wanted(reasons, scope, limits, plan)
    if plan.svg is not None:
        require_free(plan.svg, replace=plan.force)
    handle = one_cluster(sources.handles(), execute=False)
    found = rebalance_replicas(
        handle,
        wanted,
        options=PlanningLimits(limits.ignore_capacity, limits.margin),
        throttle=plan.rate,
        limits=in_flight.limits(),
        files=plan.files(),
        since=reasons.since,
    )
    if plan.svg is not None:
        write_picture(found, plan.svg, replace=plan.force)
        found = replace(found, paths={**found.paths, "svg": plan.svg})
    emit(answer(found), output, lambda console: show(found, console, sources.again_live(handle.name)))
    raise typer.Exit(found.exit_code)


def _wanted(
    reasons: ReasonOptions, scope: ScopeOptions, limits: LimitOptions, plan: PlanOptions
) -> Request | NamedReassignments:
    """The reasons, or the replicas of a file."""
    request = _request(reasons, scope, limits, plan)
    if reasons.from_reassignment_json is not None:
        from kreplica.execution.moves.plans.reassignment_json import read_reassignment_json

        if request.reasons:
            raise UsageError(
                "--from-reassignment-json and a reason exclude each other",
                ", ".join(reason.kind for reason in request.reasons),
                "leave out one of them",
            )
        if plan.svg is not None:
            raise UsageError("--svg draws plans for a reason", "the replicas are named by a file", "leave out --svg")
        return read_reassignment_json(reasons.from_reassignment_json)
    if not request.reasons:
        raise UsageError(
            "no reason to move replicas is given",
            "",
            "give --repair, --dead-for, --rack-aware, --drain, --add, --replication-factor, --balance or --relieve",
        )
    return request


def _request(reasons: ReasonOptions, scope: ScopeOptions, limits: LimitOptions, plan: PlanOptions) -> Request:
    from kreplica.planner.reassignment.request import Request

    return Request(
        reasons.reasons(),
        to=parse_ids(scope.to or (), "--to"),
        excluded_brokers=parse_ids(scope.exclude_broker or (), "--exclude-broker"),
        topics=scope.topic,
        excluded_topics=scope.exclude_topic,
        max_moves=limits.max_moves,
        max_bytes=None if limits.max_bytes is None else parse_size(limits.max_bytes, "--max-bytes"),
        max_leader_changes=limits.max_leader_changes,
        max_disk_used=parse_percent(limits.max_disk_used, "--max-disk-used"),
        weights=reasons.loads(),
        seed=plan.seed,
        prove=plan.prove,
    )
