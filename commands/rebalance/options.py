"""Options that the subcommands of rebalance share, and the one cluster they are about."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.options.common import LARGEST_INT32
from commands.shared.printing.terminal import print_err
from kreplica.errors import UsageError

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.execution.executor import Pace

PlanArgument = Annotated[Path, typer.Argument(metavar="PLAN", help="The plan's file; its journal lies beside it.")]
ExecuteOption = Annotated[bool, typer.Option("--execute", help="Do it. Without this option nothing is changed.")]
YesOption = Annotated[
    bool, typer.Option("--yes", help="Do not ask at the terminal; a script needs it for a production context.")
]
AllowZookeeperOption = Annotated[
    bool,
    typer.Option("--allow-zookeeper-write", help="Elect through ZooKeeper where only --zookeeper is given."),
]
REPLICAS = "Plans of replicas"
ElectOption = Annotated[
    bool,
    typer.Option(
        "--elect/--no-elect",
        rich_help_panel=REPLICAS,
        help="Elect preferred leaders that the plan changes at the end, in batches.",
    ),
]
KeepCordonOption = Annotated[
    bool,
    typer.Option(
        "--keep-cordon",
        rich_help_panel=REPLICAS,
        help="Leave drained brokers cordoned at the end; Kafka 4.3 and newer.",
    ),
]


@dataclass(frozen=True, slots=True)
class PaceOptions:
    """Options of how fast elections are made."""

    batch: Annotated[
        int | None,
        typer.Option(
            "--batch",
            min=1,
            max=LARGEST_INT32,
            metavar="N",
            help="Most partitions at once; 100, or a plan's own batches, if not given.",
        ),
    ] = None
    pause: Annotated[
        str | None,
        typer.Option("--pause", metavar="TIME", help="Wait between two batches: 10s, 2m; none if not given."),
    ] = None

    def given(self) -> dict[str, object]:
        """The options as typed, by their names."""
        return {"--batch": self.batch, "--pause": self.pause}

    def pace(self) -> Pace:
        """The pace of a run.

        Raises:
            UsageError: ``--pause`` is no length of time.
        """
        from commands.shared.values import parse_duration
        from kreplica.execution.executor import Pace

        return Pace(self.batch, parse_duration(self.pause, "--pause") if self.pause is not None else 0.0)


@dataclass(frozen=True, slots=True)
class RateOptions:
    """Options of the throttle that replicas are moved under, and of how long a run waits for them."""

    throttle: Annotated[
        str | None,
        typer.Option(
            "--throttle",
            metavar="RATE|auto|none",
            rich_help_panel=REPLICAS,
            help="Most bytes a second that each broker sends or gets of moves: 50MB; auto follows what the cluster"
            " bears.",
        ),
    ] = None
    least: Annotated[
        str | None,
        typer.Option(
            "--min", metavar="RATE", rich_help_panel=REPLICAS, help="Least rate of --throttle auto.  [default: 1MB]"
        ),
    ] = None
    most: Annotated[
        str | None,
        typer.Option(
            "--max", metavar="RATE", rich_help_panel=REPLICAS, help="Highest rate of --throttle auto.  [default: 100MB]"
        ),
    ] = None
    max_wait: Annotated[
        str | None,
        typer.Option(
            "--max-wait",
            metavar="TIME",
            rich_help_panel=REPLICAS,
            help="Stop when nothing has moved on, or the cluster was worse than before, for so long.  [default: 10m]",
        ),
    ] = None

    def given(self) -> dict[str, object]:
        """The options as typed, by their names."""
        return {"--throttle": self.throttle, "--min": self.least, "--max": self.most, "--max-wait": self.max_wait}


def one_cluster(handles: Sequence[ClusterHandle], *, execute: bool) -> ClusterHandle:
    """The one cluster that is named; a live one if it is to be changed.

    Raises:
        UsageError: Several are named, or a dump is to be changed.
    """
    if len(handles) != 1:
        names = ", ".join(handle.name for handle in handles)
        raise UsageError(f"{len(handles)} clusters are named", names, "a change is made to one cluster at a time")
    if execute and handles[0].dump is not None:
        raise UsageError("a dump cannot be changed", "--execute needs a live cluster", "name it by --bootstrap-server")
    return handles[0]


def write_words(handle: ClusterHandle) -> str:
    """Options that a change of this cluster needs besides those for connection, after a space; empty for brokers."""
    return " --allow-zookeeper-write" if handle.by_zookeeper else ""


def parse_rate(text: str, option: str) -> int:
    """Bytes a second of ``50MB``, ``50MB/s``, ``1500000``.

    Raises:
        UsageError: It is no rate.
    """
    from commands.shared.values import parse_size

    return parse_size(text.strip().removesuffix("/s"), option)


def tell(text: str) -> None:
    """Prints progress on a terminal; a log gets the answer alone."""
    if sys.stderr.isatty():
        print_err(text)
