"""Incidents of the clusters of a history; processes share the clusters, and each holds one at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from kreplica.errors import ExitCode, UsageError
from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import FleetFinding
from kreplica.fleet.incidents.finding import Told, incidents_of
from kreplica.fleet.incidents.incident import Incident, incident_order
from kreplica.fleet.incidents.rows import BehindRow, IncidentRow, behind_row, row_of
from kreplica.fleet.incidents.scenes import TABLES_READ
from kreplica.fleet.judging import judge_cluster, newest_ms, tables_read
from kreplica.fleet.rule import Circumstances
from kreplica.health.rules import Severity
from kreplica.history.newest import newest_ms_in
from kreplica.history.selection import Chosen, HistoryMonth, choose, storage_of
from kreplica.model.nearest_names import nearest_or_known
from kreplica.store.selection import Wanted
from kreplica.system.locations import Place
from kreplica.system.processes import side_by_side
from kreplica.system.storage import Storage

_EVERYTHING = Wanted()


@dataclass(frozen=True, slots=True)
class FoundIncidents:
    """Incidents of a history.

    Args:
        incidents: The incidents, the worst first.
        left_over: Findings of which no cause is known.
        names: Name of each cluster that was looked at, by its label.
        snapshots: Number of their snapshots.
        chosen: The months that were read, and the problems of the others.
        earlier: Number of incidents left out because an earlier answer has them; None if none was compared with.
    """

    incidents: Sequence[Incident]
    left_over: Sequence[FleetFinding]
    names: Mapping[str, str]
    snapshots: int
    chosen: Chosen
    earlier: int | None = None

    def without(self, ids: Collection[str]) -> FoundIncidents:
        """The same without the incidents of an earlier answer.

        Args:
            ids: Their ids.
        """
        new = [one for one in self.incidents if one.id not in ids]
        return replace(self, incidents=new, earlier=len(self.incidents) - len(new))

    @property
    def rows(self) -> list[IncidentRow]:
        """A row for each incident."""
        return [row_of(one) for one in self.incidents]

    @property
    def warnings(self) -> list[str]:
        """Lines on what could not be read."""
        return [f"{problem.path}: {problem.reason}" for problem in self.chosen.problems]

    def exit_code(self, lowest: Severity = Severity.WARNING) -> ExitCode:
        """1 when an incident is at least so severe, 5 when there is none but something could not be read."""
        if any(one.severity >= lowest and not one.is_planned for one in self.incidents):
            return ExitCode.FINDINGS
        return ExitCode.INCOMPLETE if self.chosen.left_out else ExitCode.OK


@dataclass(frozen=True, slots=True)
class FoundIncident:
    """One incident of a history.

    Args:
        incident: The incident.
        name: Name of its cluster.
        chosen: The months that were read, and the problems of the others.
    """

    incident: Incident
    name: str
    chosen: Chosen

    @property
    def rows(self) -> list[BehindRow]:
        """A row for each finding behind it, the most severe first."""
        return [behind_row(one) for one in self.incident.findings]

    @property
    def warnings(self) -> list[str]:
        """Lines on what could not be read."""
        return [f"{problem.path}: {problem.reason}" for problem in self.chosen.problems]

    @property
    def exit_code(self) -> ExitCode:
        """5 where a month could not be read."""
        return ExitCode.INCOMPLETE if self.chosen.left_out else ExitCode.OK


def incidents_in(history: Place | str | Storage, wanted: Wanted = _EVERYTHING, processes: int = 1) -> FoundIncidents:
    """The incidents of a history.

    Args:
        history: Its folder, ``s3://BUCKET/PREFIX``, or a storage.
        wanted: Which clusters; and only incidents that were seen from one moment to another. What came before and after
            is read all the same, so that an incident is the same one however much is asked for.
        processes: Number of processes that share the clusters.

    Raises:
        InputError: There is no history, or a file is damaged.
        UsageError: It holds no such cluster.
    """
    storage = storage_of(history)
    tables = sorted({*tables_read(), *(schema.name for schema in TABLES_READ)})
    chosen = choose(storage, Wanted(wanted.clusters), tables)
    if not chosen.months:
        chosen.refuse_damaged()
        raise UsageError(f"{storage.named('')} holds no cluster that is wanted", fix="look at --cluster")
    newest = newest_ms_in(storage) if wanted.clusters else None
    work = _Work(Circumstances(newest_ms(chosen) if newest is None else newest))
    clusters = side_by_side(work, list(chosen.by_cluster().values()), processes)
    found = [incident for one in clusters for incident in one.told.incidents if _is_inside(incident, wanted)]
    return FoundIncidents(
        sorted(found, key=incident_order),
        [finding for one in clusters for finding in one.told.left_over if _is_inside(finding, wanted)],
        {one.cluster: one.name for one in clusters},
        sum(one.snapshots for one in clusters),
        chosen,
    )


@dataclass(frozen=True, slots=True)
class _ToldCluster:
    cluster: str
    name: str
    snapshots: int
    told: Told


@dataclass(frozen=True, slots=True)
class _Work:
    asked: Circumstances

    def __call__(self, months: Sequence[HistoryMonth]) -> _ToldCluster:
        history = ClusterHistory(months)
        told = incidents_of(history, judge_cluster(history, self.asked)).packed()
        return _ToldCluster(history.cluster, history.name, len(history.times), told)


def incident_in(
    history: Place | str | Storage, incident: str, wanted: Wanted = _EVERYTHING, processes: int = 1
) -> FoundIncident:
    """One incident of a history.

    Args:
        history: Its folder, ``s3://BUCKET/PREFIX``, or a storage.
        incident: Its id, or the beginning of it.
        wanted: Which clusters to look for it in.
        processes: Number of processes that share the clusters.

    Raises:
        InputError: There is no history, or a file is damaged.
        UsageError: It holds no such incident, or several.
    """
    found = incidents_in(history, Wanted(wanted.clusters), processes)
    fitting = [one for one in found.incidents if incident and one.id.startswith(incident)]
    if len(fitting) == 1:
        return FoundIncident(fitting[0], found.names[fitting[0].cluster], found.chosen)
    if fitting:
        raise UsageError(f"{incident} begins {len(fitting)} incidents", ", ".join(one.id for one in fitting))
    known = nearest_or_known(incident, [one.id for one in found.incidents])
    raise UsageError(f"no incident {incident} in this history", known, "kreplica audit incidents HISTORY lists them")


def _is_inside(one: Incident | FleetFinding, wanted: Wanted) -> bool:
    """True if it was on at any time that is wanted."""
    late = wanted.until is not None and one.valid_from_ms > _milliseconds(wanted.until)
    return not late and (wanted.since is None or one.last_seen_ms >= _milliseconds(wanted.since))


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
