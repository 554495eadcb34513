"""What is asked of any broker for the cluster, of the controller, and of each broker for itself, by facet.

Answers are objects that fill while they are read: a broker that falls silent half way loses nothing it has told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from kreplica.model.settings import RETENTION_SETTINGS
from kreplica.model.snapshot import Gap
from kreplica.sources import Facet
from kreplica.sources.kafka_configs import (
    TOPIC_SETTINGS,
    Setting,
    read_balance_settings,
    read_broker_settings,
    read_cluster_settings,
    read_throttle_rates,
    read_topic_settings,
)
from kreplica.sources.kafka_failures import RequestUnsupportedError
from kreplica.sources.kafka_groups import Committed, read_groups
from kreplica.sources.kafka_layout import Layout
from kreplica.sources.kafka_log_dirs import BrokerLogs, read_log_dirs
from kreplica.sources.kafka_moves import Moves, read_moves
from kreplica.sources.kafka_offsets import Offsets, read_offsets
from kreplica.sources.kafka_quorum import QuorumNode, read_quorum

if TYPE_CHECKING:
    from kreplica.sources.kafka_admin import BrokerConnection

EACH_BROKER = Facet.LOG_DIRS | Facet.BROKER_CONFIGS | Facet.OFFSETS | Facet.GROUPS | Facet.CAUSES | Facet.BALANCE
"""Facets that each broker answers for itself."""
OF_TOPICS = Facet.TOPIC_CONFIGS | Facet.RETENTION
"""Facets that one request for topics' settings answers, whichever of them are wanted."""

Answer = TypeVar("Answer")


@dataclass(slots=True)
class ClusterAnswers:
    """What any broker answers for the whole cluster."""

    health: Mapping[str, tuple[int | None, bool | None]] = field(default_factory=dict)
    settings: list[Setting] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)


@dataclass(slots=True)
class ControllerAnswers:
    """What only the controller can tell."""

    moves: Moves | None = None
    quorum: list[QuorumNode] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class BrokerAnswers:
    """What one broker answers for itself."""

    logs: BrokerLogs | None = None
    settings: list[Setting] = field(default_factory=list)
    offsets: Offsets | None = None
    groups: list[Committed] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def ask_cluster(connection: BrokerConnection, wanted: Facet, topics: Sequence[str], answers: ClusterAnswers) -> None:
    """Asks any broker for topics' settings and settings for all brokers."""
    if wanted & OF_TOPICS:
        found = _if_supported(lambda: read_topic_settings(connection, topics, _settings_wanted(wanted)))
        if found is not None:
            answers.health = found.health
            answers.settings += found.rows
            answers.gaps += found.gaps
    if Facet.BROKER_CONFIGS in wanted:
        _add(answers.settings, answers.gaps, _if_supported(lambda: read_cluster_settings(connection)))


def _settings_wanted(wanted: Facet) -> tuple[str, ...] | None:
    if Facet.TOPIC_CONFIGS | Facet.BROKER_CONFIGS in wanted:
        return None
    health = TOPIC_SETTINGS if Facet.TOPIC_CONFIGS in wanted else ()
    return health + (RETENTION_SETTINGS if Facet.RETENTION in wanted else ())


def ask_controller(connection: BrokerConnection, wanted: Facet, layout: Layout, answers: ControllerAnswers) -> None:
    """Asks for reassignments and the metadata quorum."""
    answers.moves, gaps = read_moves(connection, layout)
    answers.gaps += gaps
    if Facet.QUORUM in wanted:
        _add(answers.quorum, answers.gaps, read_quorum(connection))
    elif Facet.CAUSES in wanted:
        found, refused = read_quorum(connection)
        answers.quorum += found
        answers.notes += (f"since when a broker is gone is not known: {gap.message}" for gap in refused)


def ask_broker(
    connection: BrokerConnection,
    wanted: Facet,
    broker: int,
    led: Sequence[tuple[str, int]],
    answers: BrokerAnswers,
) -> None:
    """Asks one broker for its log directories, its settings, offsets of what it leads and groups it coordinates."""
    if Facet.LOG_DIRS in wanted:
        answers.logs = _if_supported(lambda: read_log_dirs(connection, broker))
    if Facet.BROKER_CONFIGS in wanted:
        _add(answers.settings, answers.gaps, _if_supported(lambda: read_broker_settings(connection, broker)))
    else:
        _ask_for_chosen_settings(connection, wanted, broker, answers)
    if Facet.OFFSETS in wanted and led:
        answers.offsets = _if_supported(lambda: read_offsets(connection, led))
    if Facet.GROUPS in wanted:
        _add(answers.groups, answers.gaps, _if_supported(lambda: read_groups(connection)))


def _ask_for_chosen_settings(connection: BrokerConnection, wanted: Facet, broker: int, answers: BrokerAnswers) -> None:
    rates = _if_supported(lambda: read_throttle_rates(connection, broker)) if Facet.CAUSES in wanted else None
    if rates is not None:
        answers.settings += rates[0]
        answers.notes += [rates[1]] if rates[1] else []
    if Facet.BALANCE in wanted:
        _add(answers.settings, answers.gaps, _if_supported(lambda: read_balance_settings(connection, broker)))


def _if_supported(call: Callable[[], Answer]) -> Answer | None:
    # What an old broker does not know is no gap: the source cannot know it, and the fields stay null.
    try:
        return call()
    except RequestUnsupportedError:
        return None


def _add(rows: list[Answer], gaps: list[Gap], found: tuple[list[Answer], tuple[Gap, ...]] | None) -> None:
    if found is not None:
        rows += found[0]
        gaps += found[1]
