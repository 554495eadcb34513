"""kreplica rebalance replicas: which replicas would move for a reason, and a plan that moves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.rebalance.options import live_words, one_cluster
from commands.shared.options.common import BROKERS, LARGEST_INT32, OutputOption, SourceOptions, takes_sources
from commands.shared.values import parse_duration, parse_ids, parse_percent, parse_size
from kreplica.errors import UsageError

if TYPE_CHECKING:
    from kreplica.execution.moves.plans.reassignment_json import NamedReassignments
    from kreplica.planner.reassignment.request import Reason, Request
    from kreplica.planner.reassignment.steps import MoveLimits


class Load(StrEnum):
    """Loads of brokers that can be made equal."""

    COUNT = "count"
    TOPIC = "topic"
    LEADERS = "leaders"
    BYTES = "bytes"
    WEIGHTS = "weights"


Brokers = list[str] | None
REASONS = "Reasons to move"
SCOPE = "Brokers and topics"
LIMITS = "Limits"
IN_FLIGHT = "Moves in flight"
PLAN = "The plan"


@takes_sources
def replicas(
    sources: SourceOptions,
    repair: Annotated[
        Brokers,
        typer.Option(
            "--repair", rich_help_panel=REASONS, metavar=BROKERS, help="Replace the replicas of dead brokers."
        ),
    ] = None,
    dead_for: Annotated[
        str | None,
        typer.Option(
            "--dead-for",
            rich_help_panel=REASONS,
            metavar="TIME",
            help="Replace the replicas of brokers that have been down so long: 1h, 2d.",
        ),
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option(
            "--since",
            rich_help_panel=REASONS,
            metavar="DUMP",
            help="An earlier snapshot, or a directory of them, for --dead-for: brokers that were down then, too.",
        ),
    ] = None,
    rack_aware: Annotated[
        bool,
        typer.Option(
            "--rack-aware", rich_help_panel=REASONS, help="Spread the replicas of each partition over the racks."
        ),
    ] = False,
    drain: Annotated[
        Brokers,
        typer.Option(
            "--drain", rich_help_panel=REASONS, metavar=BROKERS, help="Move all replicas away from these brokers."
        ),
    ] = None,
    add: Annotated[
        Brokers,
        typer.Option(
            "--add", rich_help_panel=REASONS, metavar=BROKERS, help="Give these brokers their share of replicas."
        ),
    ] = None,
    replication_factor: Annotated[
        int | None,
        typer.Option(
            "--replication-factor",
            rich_help_panel=REASONS,
            min=1,
            max=32767,
            metavar="N",
            help="Replicas that partitions shall have.",
        ),
    ] = None,
    balance: Annotated[
        list[Load] | None,
        typer.Option(
            "--balance",
            rich_help_panel=REASONS,
            help="Make brokers equal: number of replicas (count), replicas of each topic, preferred leaders, bytes, or"
            " the weights of --weights; may be repeated.",
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            "--weights",
            rich_help_panel=REASONS,
            metavar="FILE",
            help="CSV with topic,partition,weight, for --balance weights.",
        ),
    ] = None,
    relieve: Annotated[
        Brokers,
        typer.Option(
            "--relieve",
            rich_help_panel=REASONS,
            metavar="ID[:DIR],…",
            help="Free disk space of these brokers, or of one log directory of a broker, with few bytes.",
        ),
    ] = None,
    to_used: Annotated[
        str,
        typer.Option(
            "--to-used",
            rich_help_panel=REASONS,
            metavar="PERCENT",
            help="Disk space that --relieve leaves in use, such as 70%.",
        ),
    ] = "70%",
    from_reassignment_json: Annotated[
        Path | None,
        typer.Option(
            "--from-reassignment-json",
            rich_help_panel=REASONS,
            metavar="FILE",
            help="Take the replicas from a file of kafka-reassign-partitions, instead of a reason.",
        ),
    ] = None,
    to: Annotated[
        Brokers,
        typer.Option("--to", rich_help_panel=SCOPE, metavar=BROKERS, help="Only these brokers receive replicas."),
    ] = None,
    exclude_broker: Annotated[
        Brokers,
        typer.Option(
            "--exclude-broker", rich_help_panel=SCOPE, metavar=BROKERS, help="Brokers that receive and give up nothing."
        ),
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option("--topic", rich_help_panel=SCOPE, metavar="REGEX,…", help="Only topics whose whole name matches."),
    ] = None,
    exclude_topic: Annotated[
        str | None,
        typer.Option(
            "--exclude-topic",
            rich_help_panel=SCOPE,
            metavar="REGEX,…",
            help="Leave out topics whose whole name matches.",
        ),
    ] = None,
    max_disk_used: Annotated[
        str,
        typer.Option(
            "--max-disk-used",
            rich_help_panel=LIMITS,
            metavar="PERCENT",
            help="Fullest that a log directory may become at any moment, such as 85%.",
        ),
    ] = "85%",
    ignore_capacity: Annotated[
        bool,
        typer.Option(
            "--ignore-capacity", rich_help_panel=LIMITS, help="Give replicas to brokers whose free space is not known."
        ),
    ] = False,
    margin: Annotated[
        int,
        typer.Option(
            "--margin",
            rich_help_panel=LIMITS,
            min=0,
            max=10,
            metavar="N",
            help="Brokers that may fail at any moment of a move without putting its partition in danger.",
        ),
    ] = 1,
    max_moves: Annotated[
        int | None,
        typer.Option(
            "--max-moves",
            rich_help_panel=LIMITS,
            min=0,
            max=LARGEST_INT32,
            metavar="N",
            help="Most replicas that are added.",
        ),
    ] = None,
    max_bytes: Annotated[
        str | None,
        typer.Option(
            "--max-bytes", rich_help_panel=LIMITS, metavar="SIZE", help="Most bytes that are copied: 50GB, 64MiB."
        ),
    ] = None,
    max_leader_changes: Annotated[
        int | None,
        typer.Option(
            "--max-leader-changes",
            rich_help_panel=LIMITS,
            min=0,
            max=LARGEST_INT32,
            metavar="N",
            help="Most partitions that change their preferred leader.",
        ),
    ] = None,
    prove: Annotated[
        bool,
        typer.Option(
            "--prove",
            rich_help_panel=PLAN,
            help="Find the fewest moves, then the fewest bytes, exactly; needs kreplica[plan].",
        ),
    ] = False,
    throttle: Annotated[
        str | None,
        typer.Option(
            "--throttle",
            rich_help_panel=PLAN,
            metavar="SIZE",
            help="Bytes a second of each broker, for the expected time.",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            rich_help_panel=PLAN,
            min=0,
            max=LARGEST_INT32,
            metavar="N",
            help="Chooses between equally good plans.",
        ),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", rich_help_panel=PLAN, metavar="FILE", help="Write a plan for `kreplica rebalance apply`."
        ),
    ] = None,
    moves: Annotated[
        int,
        typer.Option(
            "--moves",
            min=1,
            max=LARGEST_INT32,
            metavar="N",
            rich_help_panel=IN_FLIGHT,
            help="Most partitions that the plan moves at once.  [default: 500]",
            show_default=False,
        ),
    ] = 500,
    moves_per_broker: Annotated[
        int,
        typer.Option(
            "--moves-per-broker",
            min=1,
            max=LARGEST_INT32,
            metavar="N",
            rich_help_panel=IN_FLIGHT,
            help="Most moves of which one broker is a part.  [default: 10]",
            show_default=False,
        ),
    ] = 10,
    moves_per_directory: Annotated[
        int,
        typer.Option(
            "--moves-per-directory",
            min=1,
            max=LARGEST_INT32,
            metavar="N",
            rich_help_panel=IN_FLIGHT,
            help="Most replicas on their way from or to one log directory of their broker.  [default: 2]",
            show_default=False,
        ),
    ] = 2,
    bytes_per_directory: Annotated[
        str | None,
        typer.Option(
            "--bytes-per-directory",
            metavar="SIZE",
            rich_help_panel=IN_FLIGHT,
            help="Most bytes of these replicas; a larger one goes alone.  [default: 50GiB]",
            show_default=False,
        ),
    ] = None,
    bytes_per_broker: Annotated[
        str | None,
        typer.Option(
            "--bytes-per-broker",
            metavar="SIZE",
            rich_help_panel=IN_FLIGHT,
            help="Most bytes on the way from one broker, or to one; a larger partition goes alone.  [default: 50GiB]",
        ),
    ] = None,
    reassignment_json: Annotated[
        Path | None,
        typer.Option(
            "--reassignment-json",
            rich_help_panel=PLAN,
            metavar="FILE",
            help="Write the changes for kafka-reassign-partitions.",
        ),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(
            "--svg",
            rich_help_panel=PLAN,
            metavar="FILE",
            help="Draw racks and brokers before and after, as bars, into a file.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", rich_help_panel=PLAN, help="Let files that are there be replaced.")
    ] = False,
    output: OutputOption = None,
) -> None:
    """Show which replicas would move for the reasons given, with the fewest moves; nothing is changed.

    Repair, drain, add, racks, replication factor and --balance count are met together, with the fewest moves. Then
    come balances of topics, bytes and weights, in the order given: a later one undoes nothing of an earlier one. Then
    relief, and leaders last, which copies nothing.
    Replicas never go to a broker that is dead or fenced, nor to a log directory that would become fuller than
    --max-disk-used while both copies are there, and the last replica in sync stays where it is. Partitions without a
    leader, and those that are being reassigned, are named and not planned. A change that would put a partition in
    danger on the way, if one more broker failed (--margin), is left out with the reason.

    Exits 1 when something that was asked for is left out, 5 when not everything could be read.
    """
    from commands.rebalance.replicas.answer import answer
    from commands.rebalance.replicas.picture import write_picture
    from commands.rebalance.replicas.screen import show
    from commands.shared.printing.output import emit
    from kreplica.execution.rebalance.replicas import PlanFiles, rebalance_replicas
    from kreplica.planner.reassignment.planning import PlanningLimits
    from kreplica.planner.reassignment.request import Request

    named = {"repair": repair, "drain": drain, "add": add}
    reasons = [
        *_dead_for(dead_for, repair, since),
        *_reasons(named, balance, rack_aware=rack_aware, replication_factor=replication_factor),
    ]
    request = Request(
        (*reasons, *_reliefs(relieve, parse_percent(to_used, "--to-used"))),
        to=parse_ids(to or (), "--to"),
        excluded_brokers=parse_ids(exclude_broker or (), "--exclude-broker"),
        topics=topic,
        excluded_topics=exclude_topic,
        max_moves=max_moves,
        max_bytes=None if max_bytes is None else parse_size(max_bytes, "--max-bytes"),
        max_leader_changes=max_leader_changes,
        max_disk_used=parse_percent(max_disk_used, "--max-disk-used"),
        weights=_weights(weights, balance or ()),
        seed=seed,
        prove=prove,
    )
    rate = None if throttle is None else parse_size(throttle, "--throttle")
    options = PlanningLimits(ignore_capacity, margin)
    wanted = _wanted(request, from_reassignment_json)
    handle = one_cluster(sources.handles(), execute=False)
    limits = _limits(bytes_per_broker, moves_per_broker, moves)
    limits = replace(limits, moves_per_directory=moves_per_directory)
    if bytes_per_directory is not None:
        limits = replace(limits, bytes_per_directory=parse_size(bytes_per_directory, "--bytes-per-directory"))
    files = PlanFiles(out, reassignment_json, force)
    found = rebalance_replicas(handle, wanted, options=options, throttle=rate, limits=limits, files=files, since=since)
    if svg is not None:
        write_picture(found, svg, replace=force)
        found = replace(found, paths={**found.paths, "svg": svg})
    emit(answer(found), output, lambda console: show(found, console, live_words(sources, handle)))
    raise typer.Exit(found.exit_code)


def _reasons(
    named: Mapping[str, Brokers], loads: Sequence[Load] | None, *, rack_aware: bool, replication_factor: int | None
) -> list[Reason]:
    """Reasons in the order in which they count."""
    from kreplica.planner.reassignment.request import Measure, Reason, ReasonKind

    found = [Reason(ReasonKind(kind), parse_ids(ids, f"--{kind}")) for kind, ids in named.items() if ids is not None]
    if rack_aware:
        found.append(Reason(ReasonKind.RACK_AWARE))
    if replication_factor is not None:
        found.append(Reason(ReasonKind.REPLICATION_FACTOR, replication_factor=replication_factor))
    return found + [Reason(ReasonKind.BALANCE, measure=Measure(load)) for load in dict.fromkeys(loads or ())]


def _dead_for(length: str | None, repair: Brokers, since: Path | None) -> list[Reason]:
    """The reason to repair brokers that have been down for some time."""
    from kreplica.planner.reassignment.request import Reason, ReasonKind

    if length is None:
        if since is not None:
            raise UsageError("--since needs --dead-for", "it tells since when brokers are down", "leave out --since")
        return []
    if repair is not None:
        raise UsageError("--repair and --dead-for exclude each other", "", "name the brokers, or the time")
    return [Reason(ReasonKind.REPAIR, dead_for=parse_duration(length, "--dead-for", least=1))]


def _reliefs(places: Brokers, to_used: float) -> list[Reason]:
    """A reason for each broker and log directory, in the order given."""
    from kreplica.planner.reassignment.request import Reason, ReasonKind

    found = []
    for place in (one.strip() for text in places or () for one in text.split(",")):
        broker, colon, path = place.partition(":")
        if colon and not path:
            raise UsageError(f"--relieve {place} names no log directory", "", f"--relieve {broker}:/path or {broker}")
        ids = parse_ids([broker], "--relieve")
        found.append(Reason(ReasonKind.RELIEVE, ids, directory=path or None, to_used=to_used))
    return list(dict.fromkeys(found))


def _weights(file: Path | None, loads: Sequence[Load]) -> dict[tuple[str, int], int]:
    """Weights of the file, which is given with --balance weights and only then."""
    if (file is None) is (Load.WEIGHTS in loads):
        raise UsageError("--weights and --balance weights belong together", "", "give both, or neither")
    if file is None:
        return {}
    from kreplica.sources.partition_weights import read_weights

    return read_weights(file)


def _limits(bytes_per_broker: str | None, moves_per_broker: int, moves: int) -> MoveLimits:
    from kreplica.planner.reassignment.steps import DEFAULT_LIMITS, MoveLimits

    if bytes_per_broker is None:
        return MoveLimits(DEFAULT_LIMITS.bytes_per_broker, moves_per_broker, moves)
    return MoveLimits(parse_size(bytes_per_broker, "--bytes-per-broker"), moves_per_broker, moves)


def _wanted(request: Request, file: Path | None) -> Request | NamedReassignments:
    """The reasons, or the replicas of a file."""
    if file is not None:
        from kreplica.execution.moves.plans.reassignment_json import read_reassignment_json

        if request.reasons:
            raise UsageError(
                "--from-reassignment-json and a reason exclude each other",
                ", ".join(reason.kind for reason in request.reasons),
                "leave out one of them",
            )
        return read_reassignment_json(file)
    if not request.reasons:
        raise UsageError(
            "no reason to move replicas is given",
            "",
            "give --repair, --dead-for, --rack-aware, --drain, --add, --replication-factor, --balance or --relieve",
        )
    return request
