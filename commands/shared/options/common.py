"""Options that several commands share, each worded once.

``takes_sources`` gives a command the options that name clusters: the command declares one parameter
``sources: SourceOptions`` and the decorator puts ``--bootstrap-server``, ``--dump`` and the rest in its place.
"""

from __future__ import annotations

import inspect
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from commands.shared.help import CONNECTION, OUTPUT
from commands.shared.options.groups import replace_parameter
from commands.shared.printing.output import OutputFormat
from kreplica.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle

LARGEST_INT32 = (1 << 31) - 1
"""Numbers of partitions, replicas and nodes are int32 in Kafka's protocol; no count needs more."""
LARGEST_OFFSET = (1 << 63) - 1

OutputOption = Annotated[
    OutputFormat | None, typer.Option("--output", "-o", rich_help_panel=OUTPUT, help="Output format.  [default: table]")
]
StdinFilenameOption = Annotated[
    str | None,
    typer.Option(
        "--stdin-filename",
        metavar="NAME",
        help="Original path of the data on standard input; its directory names the partition.",
    ),
]


def checked_pattern(text: str | None) -> str | None:
    """The value of an option that names topics by a regular expression, checked before anything else is done.

    Raises:
        UsageError: It is not a regular expression.
    """
    from kreplica.model.topic_pattern import topic_pattern

    if text is not None:
        topic_pattern(text)
    return text


TopicOption = Annotated[
    str | None,
    typer.Option(
        "--topic",
        metavar="REGEX,…",
        callback=checked_pattern,
        help="Only topics whose whole name matches; commas separate alternatives.",
    ),
]
BROKERS = "ID,…"
"""Metavar of options that name brokers; ``commands.shared.values`` reads them."""
ExcludeInternalOption = Annotated[bool, typer.Option("--exclude-internal", help="Leave out Kafka's internal topics.")]
MaxAgeOption = Annotated[
    str | None,
    typer.Option(
        "--max-age", metavar="DURATION", rich_help_panel=OUTPUT, help="Exit 5 if a dump is older.  [default: any age]"
    ),
]
MAX_AGE = "10m"
MaxAgeOfActionOption = Annotated[
    str,
    typer.Option(
        "--max-age",
        metavar="DURATION",
        rich_help_panel=OUTPUT,
        help="Exit 5 if a dump is older than that.",
    ),
]
"""Age limit of dumps for gates before an action: an action needs the present state."""
ExitZeroOption = Annotated[
    bool, typer.Option("--exit-zero", rich_help_panel=OUTPUT, help="Exit 0 even with findings: for reports.")
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        min=0.1,
        metavar="SECONDS",
        rich_help_panel=CONNECTION,
        help="Longest time for one read.  [default: 10]",
    ),
]
BootstrapServerOption = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        metavar="HOST:PORT,…",
        rich_help_panel=CONNECTION,
        help="Brokers of a live cluster to ask first.",
    ),
]
CommandConfigOption = Annotated[
    str | None,
    typer.Option(
        "--command-config",
        metavar="FILE",
        rich_help_panel=CONNECTION,
        help="Java client properties: security and timeouts.",
    ),
]
ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE",
        rich_help_panel=CONNECTION,
        help="Contexts file.  [env: KREPLICA_CONFIG; default: the one that config init writes]",
    ),
]

READ_TIMEOUT = "read_timeout"
_READ_TIMEOUT_PARAMETER: tuple[Any, Any] = (
    Annotated[
        float | None,
        typer.Option(
            "--read-timeout",
            min=0.1,
            metavar="SECONDS",
            rich_help_panel=CONNECTION,
            help="Longest time for one read.  [default: 10]",
        ),
    ],
    None,
)

_SOURCE_PARAMETERS: dict[str, tuple[Any, Any]] = {
    "bootstrap_server": (BootstrapServerOption, None),
    "command_config": (CommandConfigOption, None),
    "zookeeper": (
        Annotated[
            str | None,
            typer.Option(
                "--zookeeper",
                metavar="HOST:PORT,…/CHROOT",
                rich_help_panel=CONNECTION,
                help="ZooKeeper of a cluster that keeps its metadata there; it is read only.",
            ),
        ],
        None,
    ),
    "dump": (
        Annotated[
            str | None,
            typer.Option(
                "--dump",
                metavar="PATH",
                rich_help_panel=CONNECTION,
                help="A dump instead of a live cluster: kreplica's snapshot, text of kafka-topics --describe,"
                " JSON of kcat -L -J, JSON of ZooKeeper's znodes, a KRaft node's log directory or metadata checkpoint,"
                " a history;"
                " - for stdin, sample or sample-healthy for a packaged one.",
            ),
        ],
        None,
    ),
    "context": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--context",
                metavar="NAME",
                rich_help_panel=CONNECTION,
                help="Cluster of the contexts file; patterns and repeats allowed.",
            ),
        ],
        None,
    ),
    "config": (ConfigOption, None),
    "timeout": (TimeoutOption, None),
}


_HISTORY_PARAMETERS: dict[str, tuple[Any, Any]] = {
    "as_of": (
        Annotated[
            str | None,
            typer.Option(
                "--as-of",
                metavar="TIME",
                rich_help_panel=CONNECTION,
                help="Of a history: the cluster as it was then, 2026-03-01T12:00 or 7d ago.",
            ),
        ],
        None,
    ),
    "cluster": (
        Annotated[
            str | None,
            typer.Option(
                "--cluster",
                metavar="NAME",
                rich_help_panel=CONNECTION,
                help="Of a history: id or name of the cluster, where it holds several.",
            ),
        ],
        None,
    ),
}


def exit_of(code: ExitCode, *, exit_zero: bool) -> typer.Exit:
    """The end of a command; with ``--exit-zero`` findings end with 0.

    Args:
        code: Exit code without that option.
        exit_zero: Whether it was given.
    """
    return typer.Exit(ExitCode.OK if exit_zero and code is ExitCode.FINDINGS else code)


def narrowed(topics: str | None, exclude_internal: bool, brokers: Sequence[int] = ()) -> str:
    """The options that select partitions, for the next commands, a space before each."""
    words = ["--topic", topics] if topics is not None else []
    words += ["--exclude-internal"] * exclude_internal
    words += [word for broker in brokers for word in ("--broker", str(broker))]
    return "".join(f" {shlex.quote(word)}" for word in words)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options that name clusters, as given."""

    bootstrap_server: str | None
    command_config: str | None
    zookeeper: str | None
    dump: str | None
    context: list[str] | None
    config: str | None
    timeout: float | None
    as_of: str | None = None
    cluster: str | None = None

    @property
    def dump_path(self) -> str | None:
        """The dump, with the cluster and the moment in it where it is a history.

        Raises:
            UsageError: There is a cluster or a moment, and no history.
        """
        if self.as_of is None and self.cluster is None:
            return self.dump
        from commands.shared.values import parse_moment
        from kreplica.sources.dumps.history import HistoryDump

        if self.dump is None:
            flag = "--cluster" if self.as_of is None else "--as-of"
            raise UsageError(f"{flag} is of a history", "none is named", f"--dump HISTORY {flag} ...")
        moment = None if self.as_of is None else parse_moment(self.as_of, "--as-of")
        return HistoryDump(self.dump, self.cluster, moment).path

    def handles(self) -> tuple[ClusterHandle, ...]:
        """The clusters that are named.

        Raises:
            UsageError: No way in is named, or several that exclude one another.
            ConfigurationError: The contexts file or the properties cannot be used.
        """
        from kreplica.config.ways_in import resolve_handles

        return resolve_handles(
            bootstrap_server=self.bootstrap_server,
            command_config=self.command_config,
            zookeeper=self.zookeeper,
            dump=self.dump_path,
            contexts=self.context or (),
            config_path=self.config,
            timeout=self.timeout,
            environ=os.environ,
        )

    def again(self, cluster: str, *, timeout: str = "timeout") -> str:
        """The options for connection, for a next command on one of the clusters that were read.

        Args:
            cluster: Its name: that of its context where contexts were given.
            timeout: Name of the option for the longest time of one read in the next command.
        """
        given = {name: getattr(self, name) for name in _SOURCE_PARAMETERS} | {"dump": self.dump_path}
        given[timeout] = given.pop("timeout")
        if self.context:
            given["context"] = cluster
        words = [(f"--{name.replace('_', '-')}", value) for name, value in given.items() if value is not None]
        return shlex.join(f"{word:g}" if isinstance(word, float) else str(word) for pair in words for word in pair)

    def again_live(self, cluster: str, *, timeout: str = "timeout") -> str:
        """As ``again``, for a next command that changes the cluster or waits for it.

        A dump does not change, and does not tell where its brokers are.
        """
        return "--bootstrap-server HOST:PORT" if self.dump is not None else self.again(cluster, timeout=timeout)


def takes_sources(command: Callable[..., None]) -> Callable[..., None]:
    """Replaces the parameter ``sources`` of a command by the options that name clusters.

    Where the command has a ``--timeout`` of its own, the longest time for one read is ``--read-timeout``.
    """
    return _with_sources(command, _SOURCE_PARAMETERS)


def takes_sources_as_of(command: Callable[..., None]) -> Callable[..., None]:
    """As ``takes_sources``, with the cluster and the moment of a history."""
    return _with_sources(command, {**_SOURCE_PARAMETERS, **_HISTORY_PARAMETERS})


def _with_sources(command: Callable[..., None], known: dict[str, tuple[Any, Any]]) -> Callable[..., None]:
    renamed = {"timeout": READ_TIMEOUT} if "timeout" in inspect.signature(command).parameters else {}
    parameters = {**known, **({"timeout": _READ_TIMEOUT_PARAMETER} if renamed else {})}
    shared = [
        inspect.Parameter(
            renamed.get(name, name), inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
        )
        for name, (annotation, default) in parameters.items()
    ]

    def gathered(given: dict[str, Any]) -> SourceOptions:
        return SourceOptions(**{name: given.pop(renamed.get(name, name)) for name in known})

    return replace_parameter(command, "sources", shared, gathered)
