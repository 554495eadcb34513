"""The answer of recommend: rows, summary and exit code."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from commands.shared.options import SourceOptions
from commands.shared.printing.output import Answer, cluster_object
from commands.shared.rule_options import FailOn
from kreplica.advice.advise import advise, advise_client
from kreplica.advice.facts import ClientFacts, ClusterFacts
from kreplica.advice.model import Advice, Recommendation, Scope, Unjudged
from kreplica.config.handle import ClusterHandle
from kreplica.config.properties import unknown_properties
from kreplica.config.resolve import read_client_properties
from kreplica.errors import ConfigurationError, ExitCode, UsageError
from kreplica.health.rules import Severity
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.words import counted
from kreplica.monitoring.clusters import Reading, read_clusters, select_each
from kreplica.sources import Facet

_NO_CLUSTER = Reading((), (), ())


@dataclass(frozen=True, slots=True)
class Clients:
    """Files of client properties, as named."""

    producers: tuple[str, ...] = ()
    consumers: tuple[str, ...] = ()

    def read(self) -> list[tuple[Scope, ClientFacts]]:
        """The clients.

        Raises:
            ConfigurationError: A file cannot be read.
        """
        named = [(Scope.PRODUCER, file) for file in self.producers]
        named += [(Scope.CONSUMER, file) for file in self.consumers]
        return [(scope, ClientFacts(file, read_client_properties(file))) for scope, file in named]


@dataclass(frozen=True, slots=True)
class AdviceView:
    """One cluster, or clients without one, and what was found.

    Args:
        snapshot: The topics that were judged; None without a cluster.
        advice: Recommendations, the worst first.
    """

    snapshot: ClusterSnapshot | None
    advice: Advice


@dataclass(frozen=True, slots=True)
class RecommendAnswer:
    """The answer, and further values for the screen and the exit code."""

    answer: Answer
    views: Sequence[AdviceView]
    reading: Reading

    def exit_code(self, fail_on: FailOn, *, exit_zero: bool) -> ExitCode:
        """Exit code of the command."""
        if any(one.severity >= Severity(fail_on) for view in self.views for one in view.advice):
            return ExitCode.OK if exit_zero else ExitCode.FINDINGS
        incomplete = self.reading.incomplete or any(view.advice.unjudged for view in self.views)
        return ExitCode.INCOMPLETE if incomplete else ExitCode.OK


def answer(sources: SourceOptions, clients: Clients, topic: str | None, *, exclude_internal: bool) -> RecommendAnswer:
    """Reads the clusters and the clients' files, and judges them.

    Raises:
        KreplicaError: No cluster could be read, or an option names something that does not exist.
    """
    told = clients.read()
    handles = _handles(sources, needed=not told)
    wanted = Facet.HEALTH | Facet.BROKER_CONFIGS
    reading, selected, remarks = _NO_CLUSTER, list[ClusterSnapshot](), list[str]()
    if handles:
        reading = read_clusters(handles, wanted)
        selected, remarks = select_each(reading.snapshots, topics=topic, exclude_internal=exclude_internal)
    by_name = {handle.name: handle for handle in handles}  # a dump is named by what it was read from
    views = [
        AdviceView(some, _judge(ClusterFacts(some, whole, way_in(by_name.get(whole.name, handles[0]), sources)), told))
        for whole, some in zip(reading.snapshots, selected, strict=True)
    ] or [AdviceView(None, _joined([advise_client(client, scope, None) for scope, client in told]))]
    unknown = [f"{client.file}: {said}" for _, client in told for said in unknown_properties(client.properties)]
    document = Answer(
        command="recommend",
        rows_name="recommendations",
        columns=Recommendation,
        rows=[one for view in views for one in view.advice],
        clusters=[cluster_object(view.snapshot) for view in views if view.snapshot is not None],
        summary=_summary(views, reading),
        warnings=[*reading.warnings(), *remarks, *unknown, *_not_judged(views, reading)],
        row_clusters=reading.row_clusters(
            (view.snapshot, view.advice.recommendations) for view in views if view.snapshot is not None
        ),
    )
    return RecommendAnswer(document, views, reading)


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


def way_in(handle: ClusterHandle, sources: SourceOptions) -> str:
    """Options by which Kafka's own tools connect; placeholders for values that kreplica does not know."""
    if handle.bootstrap_servers is None:
        return "--bootstrap-server HOST:PORT"
    servers = f"--bootstrap-server {handle.bootstrap_servers}"
    if sources.command_config is not None:
        return f"{servers} --command-config {shlex.quote(sources.command_config)}"
    return f"{servers} --command-config FILE" if handle.properties else servers


def _judge(facts: ClusterFacts, clients: Sequence[tuple[Scope, ClientFacts]]) -> Advice:
    return _joined([advise(facts), *(advise_client(client, scope, facts) for scope, client in clients)])


def _joined(some: Sequence[Advice]) -> Advice:
    found = [one for advice in some for one in advice]
    return Advice(
        tuple(sorted(found, key=lambda one: -one.severity.rank)),
        tuple(one for advice in some for one in advice.unjudged),
    )


def _named(view: AdviceView, reading: Reading) -> dict[str, object]:
    return {"cluster": view.snapshot.label} if reading.several and view.snapshot is not None else {}


def _summary(views: Sequence[AdviceView], reading: Reading) -> dict[str, object]:
    found = [one for view in views for one in view.advice]
    return {
        "recommendations": len(found),
        "by_severity": dict(Counter(one.severity.word for one in found)),
        "by_rule": dict(Counter(one.rule for one in found)),
        "unjudged": [
            _named(view, reading) | {"rule": one.rule, "subjects": one.subjects, "missing": one.missing}
            for view in views
            for one in view.advice.unjudged
        ],
    }


def _not_judged(views: Sequence[AdviceView], reading: Reading) -> Iterator[str]:
    for view in views:
        lead = f"{view.snapshot.name}: " if reading.several and view.snapshot is not None else ""
        for said in not_judged(view.advice.unjudged):
            yield lead + said


def not_judged(unjudged: Sequence[Unjudged]) -> Iterator[str]:
    """One clause for each missing fact, with the number of rules that need it; the summary names the rules."""
    rules = Counter(one.missing for one in unjudged)
    for fact, count in rules.items():
        yield f"{fact} unavailable: {counted(count, 'rule')} skipped"
