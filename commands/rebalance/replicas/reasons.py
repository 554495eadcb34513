"""Options of kreplica rebalance replicas that say why replicas are to move."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.options.common import BROKERS
from commands.shared.values import parse_duration, parse_ids, parse_percent
from kreplica.errors import UsageError

if TYPE_CHECKING:
    from kreplica.planner.reassignment.request import Reason

Brokers = list[str] | None
REASONS = "Reasons to move"


class Load(StrEnum):
    """Loads of brokers that can be made equal."""

    COUNT = "count"
    TOPIC = "topic"
    LEADERS = "leaders"
    BYTES = "bytes"
    WEIGHTS = "weights"


@dataclass(frozen=True, slots=True)
class ReasonOptions:
    """Options that say why replicas are to move, as given."""

    repair: Annotated[
        Brokers,
        typer.Option(
            "--repair", rich_help_panel=REASONS, metavar=BROKERS, help="Replace the replicas of dead brokers."
        ),
    ] = None
    dead_for: Annotated[
        str | None,
        typer.Option(
            "--dead-for",
            rich_help_panel=REASONS,
            metavar="TIME",
            help="Replace the replicas of brokers that have been down so long: 1h, 2d.",
        ),
    ] = None
    since: Annotated[
        Path | None,
        typer.Option(
            "--since",
            rich_help_panel=REASONS,
            metavar="DUMP",
            help="An earlier snapshot, or a directory of them, for --dead-for: brokers that were down then, too.",
        ),
    ] = None
    rack_aware: Annotated[
        bool,
        typer.Option(
            "--rack-aware", rich_help_panel=REASONS, help="Spread the replicas of each partition over the racks."
        ),
    ] = False
    drain: Annotated[
        Brokers,
        typer.Option(
            "--drain", rich_help_panel=REASONS, metavar=BROKERS, help="Move all replicas away from these brokers."
        ),
    ] = None
    add: Annotated[
        Brokers,
        typer.Option(
            "--add", rich_help_panel=REASONS, metavar=BROKERS, help="Give these brokers their share of replicas."
        ),
    ] = None
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
    ] = None
    balance: Annotated[
        list[Load] | None,
        typer.Option(
            "--balance",
            rich_help_panel=REASONS,
            help="Make brokers equal: number of replicas (count), replicas of each topic, preferred leaders, bytes, or"
            " the weights of --weights; may be repeated.",
        ),
    ] = None
    weights: Annotated[
        Path | None,
        typer.Option(
            "--weights",
            rich_help_panel=REASONS,
            metavar="FILE",
            help="CSV with topic,partition,weight, for --balance weights.",
        ),
    ] = None
    relieve: Annotated[
        Brokers,
        typer.Option(
            "--relieve",
            rich_help_panel=REASONS,
            metavar="ID[:DIR],…",
            help="Free disk space of these brokers, or of one log directory of a broker, with few bytes.",
        ),
    ] = None
    to_used: Annotated[
        str,
        typer.Option(
            "--to-used",
            rich_help_panel=REASONS,
            metavar="PERCENT",
            help="Disk space that --relieve leaves in use, such as 70%.",
        ),
    ] = "70%"
    from_reassignment_json: Annotated[
        Path | None,
        typer.Option(
            "--from-reassignment-json",
            rich_help_panel=REASONS,
            metavar="FILE",
            help="Take the replicas from a file of kafka-reassign-partitions, instead of a reason.",
        ),
    ] = None

    def reasons(self) -> tuple[Reason, ...]:
        """The reasons in the order in which they count.

        Raises:
            UsageError: Options exclude each other, or name nothing that there can be.
        """
        return (*self._dead_for(), *self._of_options(), *self._reliefs())

    def _of_options(self) -> list[Reason]:
        from kreplica.planner.reassignment.request import Measure, Reason, ReasonKind

        named = {"repair": self.repair, "drain": self.drain, "add": self.add}
        found = [
            Reason(ReasonKind(kind), parse_ids(ids, f"--{kind}")) for kind, ids in named.items() if ids is not None
        ]
        if self.rack_aware:
            found.append(Reason(ReasonKind.RACK_AWARE))
        if self.replication_factor is not None:
            found.append(Reason(ReasonKind.REPLICATION_FACTOR, replication_factor=self.replication_factor))
        return found + [Reason(ReasonKind.BALANCE, measure=Measure(load)) for load in dict.fromkeys(self.balance or ())]

    def _dead_for(self) -> list[Reason]:
        """The reason to repair brokers that have been down for some time."""
        from kreplica.planner.reassignment.request import Reason, ReasonKind

        if self.dead_for is None:
            if self.since is not None:
                raise UsageError(
                    "--since needs --dead-for", "it tells since when brokers are down", "leave out --since"
                )
            return []
        if self.repair is not None:
            raise UsageError("--repair and --dead-for exclude each other", "", "name the brokers, or the time")
        return [Reason(ReasonKind.REPAIR, dead_for=parse_duration(self.dead_for, "--dead-for", least=1))]

    def _reliefs(self) -> list[Reason]:
        """A reason for each broker and log directory, in the order given."""
        from kreplica.planner.reassignment.request import Reason, ReasonKind

        to_used = parse_percent(self.to_used, "--to-used")
        found = []
        for place in (one.strip() for text in self.relieve or () for one in text.split(",")):
            broker, colon, path = place.partition(":")
            if colon and not path:
                fix = f"--relieve {broker}:/path or {broker}"
                raise UsageError(f"--relieve {place} names no log directory", "", fix)
            ids = parse_ids([broker], "--relieve")
            found.append(Reason(ReasonKind.RELIEVE, ids, directory=path or None, to_used=to_used))
        return list(dict.fromkeys(found))

    def loads(self) -> dict[tuple[str, int], int]:
        """Weights of the file, which is given with --balance weights and only then.

        Raises:
            UsageError: One is given without the other, or the file cannot be used.
        """
        if (self.weights is None) is (Load.WEIGHTS in (self.balance or ())):
            raise UsageError("--weights and --balance weights belong together", "", "give both, or neither")
        if self.weights is None:
            return {}
        from kreplica.sources.partition_weights import read_weights

        return read_weights(self.weights)
