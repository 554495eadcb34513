"""The answer of recommend: rows, summary and exit code."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from commands.shared.options.common import SourceOptions
from commands.shared.printing.output import Answer, cluster_object
from kreplica.advice.model import Recommendation
from kreplica.config.handle import ClusterHandle
from kreplica.errors import ConfigurationError, UsageError
from kreplica.health.rules import Severity
from kreplica.monitoring.clusters import Reading
from kreplica.monitoring.recommendations import AdvisedCluster, AdvisedClusters, Clients, recommend


@dataclass(frozen=True, slots=True)
class RecommendAnswer:
    """The answer, and further values for the screen and the exit code."""

    answer: Answer[Recommendation]
    found: AdvisedClusters

    @property
    def views(self) -> Sequence[AdvisedCluster]:
        """The clusters."""
        return self.found.clusters

    @property
    def reading(self) -> Reading:
        """The clusters as read."""
        return self.found.reading


def answer(
    sources: SourceOptions, clients: Clients, topic: str | None, lowest: Severity, *, exclude_internal: bool
) -> RecommendAnswer:
    """Reads the clusters and the clients' files, and judges them.

    Raises:
        KreplicaError: No cluster could be read, or an option names something that does not exist.
    """
    handles = _handles(sources, needed=not (clients.producers or clients.consumers))
    found = recommend(
        handles,
        clients,
        lowest=lowest,
        topics=topic,
        exclude_internal=exclude_internal,
        connection_options=lambda handle: connection_options(handle, sources),
    )
    views, reading = found.clusters, found.reading
    document = Answer(
        command="recommend",
        rows_name="recommendations",
        columns=Recommendation,
        rows=found.rows,
        clusters=[cluster_object(view.snapshot) for view in views if view.snapshot is not None],
        summary=_summary(views, reading),
        warnings=found.warnings,
        row_clusters=reading.row_clusters(
            (view.snapshot, view.advice.recommendations) for view in views if view.snapshot is not None
        ),
    )
    return RecommendAnswer(document, found)


def _handles(sources: SourceOptions, *, needed: bool) -> tuple[ClusterHandle, ...]:
    """The clusters; none where clients are judged and nothing names a cluster."""
    try:
        return sources.handles()
    except ConfigurationError:
        raise
    except UsageError as error:
        if needed or error.what != "no cluster is named":
            raise
        return ()


def connection_options(handle: ClusterHandle, sources: SourceOptions) -> str:
    """Options by which Kafka's own tools connect; placeholders for values that kreplica does not know."""
    if handle.bootstrap_servers is None:
        return "--bootstrap-server HOST:PORT"
    servers = f"--bootstrap-server {handle.bootstrap_servers}"
    if sources.command_config is not None:
        return f"{servers} --command-config {shlex.quote(sources.command_config)}"
    return f"{servers} --command-config FILE" if handle.properties else servers


def _cluster_columns(view: AdvisedCluster, reading: Reading) -> dict[str, object]:
    return {"cluster": view.snapshot.label} if reading.several and view.snapshot is not None else {}


def _summary(views: Sequence[AdvisedCluster], reading: Reading) -> dict[str, object]:
    found = [one for view in views for one in view.advice]
    return {
        "recommendations": len(found),
        "by_severity": dict(Counter(one.severity.word for one in found)),
        "by_rule": dict(Counter(one.rule for one in found)),
        "unjudged": [
            _cluster_columns(view, reading) | {"rule": one.rule, "subjects": one.subjects, "missing": one.missing}
            for view in views
            for one in view.advice.unjudged
        ],
    }
