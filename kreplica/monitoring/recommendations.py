"""Settings to change, recommended for clusters, several at once, and for clients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kreplica.advice.advise import advise, advise_client
from kreplica.advice.facts import ClientFacts, ClusterFacts
from kreplica.advice.model import Advice, Recommendation, Scope, Unjudged
from kreplica.config.properties import unknown_properties
from kreplica.config.resolve import read_client_properties
from kreplica.errors import ExitCode
from kreplica.health.rules import Severity
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.wording.words import counted
from kreplica.monitoring.clusters import Reading, read_clusters, select_each
from kreplica.sources import Facet

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle

_NO_CLUSTER = Reading((), (), ())


@dataclass(frozen=True, slots=True)
class Clients:
    """Files of Java properties of producers and consumers."""

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
class AdvisedCluster:
    """One cluster, or clients without one, and what was found.

    Args:
        snapshot: The topics that were judged; None without a cluster.
        advice: Recommendations, the worst first.
    """

    snapshot: ClusterSnapshot | None
    advice: Advice


NO_CLIENTS = Clients()


@dataclass(frozen=True, slots=True)
class AdvisedClusters:
    """Clusters and clients, and what is recommended for them.

    Args:
        reading: The clusters as read.
        clusters: Those that could be read; one without a snapshot where clients alone were judged.
        lowest: Least severity that counts as a finding.
        remarks: Clusters without the topics that were asked for, and properties that are not known.
    """

    reading: Reading
    clusters: Sequence[AdvisedCluster]
    lowest: Severity
    remarks: Sequence[str]

    @property
    def rows(self) -> list[Recommendation]:
        """The recommendations of all clusters."""
        return [one for cluster in self.clusters for one in cluster.advice]

    @property
    def exit_code(self) -> ExitCode:
        """1 with a recommendation that is severe enough, 5 where there is none but something is not known."""
        if any(one.severity >= self.lowest for one in self.rows):
            return ExitCode.FINDINGS
        incomplete = self.reading.incomplete or any(cluster.advice.unjudged for cluster in self.clusters)
        return ExitCode.INCOMPLETE if incomplete else ExitCode.OK

    @property
    def warnings(self) -> list[str]:
        """Remarks on the reading, and facts that rules lacked."""
        return [*self.reading.warnings(), *self.remarks, *_not_judged(self.clusters, self.reading)]


def recommend(
    handles: Sequence[ClusterHandle],
    clients: Clients = NO_CLIENTS,
    *,
    lowest: Severity = Severity.WARNING,
    topics: str | None = None,
    exclude_internal: bool = False,
    connection_options: Callable[[ClusterHandle], str] | None = None,
) -> AdvisedClusters:
    """Reads clusters and files of clients, and recommends settings.

    Args:
        handles: The clusters; none to judge clients alone.
        clients: Files of client properties.
        lowest: Least severity that counts as a finding.
        topics: Only topics whose whole name matches this regular expression; all if None.
        exclude_internal: Leave out internal topics.
        connection_options: Options by which Kafka's own tools connect, for the commands; placeholders if None.

    Raises:
        KreplicaError: No cluster could be read, or none has such a topic.
        ConfigurationError: A file cannot be read.
    """
    read = clients.read()
    reading, selected, remarks = _NO_CLUSTER, list[ClusterSnapshot](), list[str]()
    if handles:
        reading = read_clusters(handles, Facet.HEALTH | Facet.BROKER_CONFIGS)
        selected, remarks = select_each(reading.snapshots, topics=topics, exclude_internal=exclude_internal)
    by_name = {handle.name: handle for handle in handles}  # a dump is named by what it was read from
    named = connection_options or _placeholder
    clusters = [
        AdvisedCluster(some, _judge(ClusterFacts(some, whole, named(by_name.get(whole.name, handles[0]))), read))
        for whole, some in zip(reading.snapshots, selected, strict=True)
    ] or [AdvisedCluster(None, _joined([advise_client(client, scope, None) for scope, client in read]))]
    unknown = [f"{client.file}: {said}" for _, client in read for said in unknown_properties(client.properties)]
    return AdvisedClusters(reading, clusters, lowest, [*remarks, *unknown])


def _placeholder(handle: ClusterHandle) -> str:
    return f"--bootstrap-server {handle.bootstrap_servers or 'HOST:PORT'}"


def _judge(facts: ClusterFacts, clients: Sequence[tuple[Scope, ClientFacts]]) -> Advice:
    return _joined([advise(facts), *(advise_client(client, scope, facts) for scope, client in clients)])


def _joined(some: Sequence[Advice]) -> Advice:
    found = [one for advice in some for one in advice]
    return Advice(
        tuple(sorted(found, key=lambda one: -one.severity.rank)),
        tuple(one for advice in some for one in advice.unjudged),
    )


def _not_judged(views: Sequence[AdvisedCluster], reading: Reading) -> Iterator[str]:
    for view in views:
        lead = f"{view.snapshot.name}: " if reading.several and view.snapshot is not None else ""
        for said in not_judged(view.advice.unjudged):
            yield lead + said


def not_judged(unjudged: Sequence[Unjudged]) -> Iterator[str]:
    """One clause for each missing fact, with the number of rules that need it; the summary names the rules."""
    rules = Counter(one.missing for one in unjudged)
    for fact, count in rules.items():
        yield f"{fact} unavailable: {counted(count, 'rule')} skipped"
