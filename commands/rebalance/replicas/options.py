"""Options of kreplica rebalance replicas besides the reasons: scope, limits, what is in flight, the plan's files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.rebalance.replicas.reasons import Brokers
from commands.shared.options.common import BROKERS, LARGEST_INT32, checked_pattern
from commands.shared.values import parse_size

if TYPE_CHECKING:
    from kreplica.execution.rebalance.replicas import PlanFiles
    from kreplica.planner.reassignment.moves.order import MoveLimits

SCOPE = "Brokers and topics"
LIMITS = "Limits"
IN_FLIGHT = "Moves in flight"
PLAN = "The plan"


@dataclass(frozen=True, slots=True)
class ScopeOptions:
    """Options that say which brokers and topics take part, as given."""

    to: Annotated[
        Brokers,
        typer.Option("--to", rich_help_panel=SCOPE, metavar=BROKERS, help="Only these brokers receive replicas."),
    ] = None
    exclude_broker: Annotated[
        Brokers,
        typer.Option(
            "--exclude-broker", rich_help_panel=SCOPE, metavar=BROKERS, help="Brokers that receive and give up nothing."
        ),
    ] = None
    topic: Annotated[
        str | None,
        typer.Option(
            "--topic",
            rich_help_panel=SCOPE,
            metavar="REGEX,…",
            callback=checked_pattern,
            help="Only topics whose whole name matches.",
        ),
    ] = None
    exclude_topic: Annotated[
        str | None,
        typer.Option(
            "--exclude-topic",
            rich_help_panel=SCOPE,
            metavar="REGEX,…",
            callback=checked_pattern,
            help="Leave out topics whose whole name matches.",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class LimitOptions:
    """Options that bound the plan, as given."""

    max_disk_used: Annotated[
        str,
        typer.Option(
            "--max-disk-used",
            rich_help_panel=LIMITS,
            metavar="PERCENT",
            help="Fullest that a log directory may become at any moment, such as 85%.",
        ),
    ] = "85%"
    ignore_capacity: Annotated[
        bool,
        typer.Option(
            "--ignore-capacity", rich_help_panel=LIMITS, help="Give replicas to brokers whose free space is not known."
        ),
    ] = False
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
    ] = 1
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
    ] = None
    max_bytes: Annotated[
        str | None,
        typer.Option(
            "--max-bytes", rich_help_panel=LIMITS, metavar="SIZE", help="Most bytes that are copied: 50GB, 64MiB."
        ),
    ] = None
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
    ] = None


@dataclass(frozen=True, slots=True)
class InFlightOptions:
    """Options that bound what is in flight while the plan is carried out, as given."""

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
    ] = 500
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
    ] = 10
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
    ] = 2
    bytes_per_directory: Annotated[
        str | None,
        typer.Option(
            "--bytes-per-directory",
            metavar="SIZE",
            rich_help_panel=IN_FLIGHT,
            help="Most bytes of these replicas; a larger one goes alone.  [default: 50GiB]",
            show_default=False,
        ),
    ] = None
    bytes_per_broker: Annotated[
        str | None,
        typer.Option(
            "--bytes-per-broker",
            metavar="SIZE",
            rich_help_panel=IN_FLIGHT,
            help="Most bytes on the way from one broker, or to one; a larger partition goes alone.  [default: 50GiB]",
        ),
    ] = None

    def limits(self) -> MoveLimits:
        """Limits of the plan.

        Raises:
            UsageError: A size cannot be read.
        """
        from kreplica.planner.reassignment.moves.order import DEFAULT_LIMITS, MoveLimits

        of_broker, of_directory = DEFAULT_LIMITS.bytes_per_broker, DEFAULT_LIMITS.bytes_per_directory
        if self.bytes_per_broker is not None:
            of_broker = parse_size(self.bytes_per_broker, "--bytes-per-broker")
        if self.bytes_per_directory is not None:
            of_directory = parse_size(self.bytes_per_directory, "--bytes-per-directory")
        return MoveLimits(of_broker, self.moves_per_broker, self.moves, of_directory, self.moves_per_directory)


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Options that say how the plan is made and where it is written, as given."""

    prove: Annotated[
        bool,
        typer.Option(
            "--prove",
            rich_help_panel=PLAN,
            help="Find the fewest moves, then the fewest bytes, exactly; needs kreplica[plan].",
        ),
    ] = False
    throttle: Annotated[
        str | None,
        typer.Option(
            "--throttle",
            rich_help_panel=PLAN,
            metavar="SIZE",
            help="Bytes a second of each broker, for the expected time.",
        ),
    ] = None
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
    ] = 0
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", rich_help_panel=PLAN, metavar="FILE", help="Write a plan for `kreplica rebalance apply`."
        ),
    ] = None
    reassignment_json: Annotated[
        Path | None,
        typer.Option(
            "--reassignment-json",
            rich_help_panel=PLAN,
            metavar="FILE",
            help="Write the changes for kafka-reassign-partitions.",
        ),
    ] = None
    svg: Annotated[
        Path | None,
        typer.Option(
            "--svg",
            rich_help_panel=PLAN,
            metavar="FILE",
            help="Draw racks and brokers before and after, as bars, into a file.",
        ),
    ] = None
    force: Annotated[
        bool, typer.Option("--force", rich_help_panel=PLAN, help="Let files that are there be replaced.")
    ] = False

    @property
    def rate(self) -> int | None:
        """Bytes a second of each broker, for the expected time; None for no limit."""
        return None if self.throttle is None else parse_size(self.throttle, "--throttle")

    def files(self) -> PlanFiles:
        """Files to write."""
        from kreplica.execution.rebalance.replicas import PlanFiles

        return PlanFiles(self.out, self.reassignment_json, self.force)
