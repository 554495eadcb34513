"""Incidents of the clusters of a history; processes share the clusters, and each holds one at a time."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from kreplica.config.mutes import Mute
from kreplica.errors import ExitCode, UsageError
from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import FleetFinding, finding_order
from kreplica.fleet.incidents.finding import Told, incidents_of
from kreplica.fleet.incidents.ids import clusters_that_may_have
from kreplica.fleet.incidents.incident import Incident, IncidentKind, incident_order
from kreplica.fleet.incidents.packed import GatheredFindings, packed
from kreplica.fleet.incidents.rows import BehindRow, IncidentRow, behind_row, row_of
from kreplica.fleet.incidents.scenes import TABLES_READ
from kreplica.fleet.judging import between_clusters, judge_cluster, newest_ms, tables_read
from kreplica.fleet.known.worsening import AppliedMute, Key, Stretch, apply_mutes, muted_keys
from kreplica.fleet.rule import Circumstances
from kreplica.fleet.rules.settings import cluster_drift
from kreplica.fleet.rules.settings.cluster_drift import PresentSettings
from kreplica.health.rules import Severity
from kreplica.history.lives.log_line import Moments
from kreplica.history.lives.told_line import Line
from kreplica.history.months.log_steps import EXACT_TABLES, STEPS
from kreplica.history.newest import newest_ms_in
from kreplica.history.selection import Chosen, HistoryMonth, choose, moment_of, nothing_wanted, storage_of
from kreplica.model.wording.nearest_names import nearest_names
from kreplica.model.wording.words import counted, listed
from kreplica.store.selection import Wanted
from kreplica.system.processes import side_by_side
from kreplica.system.stores.locations import Place
from kreplica.system.stores.storage import Storage

_EVERYTHING = Wanted()


@dataclass(frozen=True, slots=True)
class FoundIncidents:
    """Incidents of a history.

    Args:
        incidents: The incidents, the worst first.
        left_over: Findings of which no cause is known.
        names: Name of each cluster that was looked at, by its label.
        snapshots: Number of their snapshots in the time that is wanted.
        chosen: The months that were read, and the problems of the others.
        earlier: Number of incidents left out because an earlier answer has them; None if none was compared with.
        muted: Incidents left out because they are muted, or all that is behind them.
        mutes: Mutes by the clusters in which they cover findings or incidents.
    """

    incidents: Sequence[Incident]
    left_over: GatheredFindings
    names: Mapping[str, str]
    snapshots: int
    chosen: Chosen
    earlier: int | None = None
    muted: Sequence[Incident] = ()
    mutes: Sequence[AppliedMute] = ()

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
        return self.chosen.warnings

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
        """A row for each finding behind it, the most severe first, and those that are muted last."""
        counting = [behind_row(one) for one in self.incident.findings]
        return [*counting, *(behind_row(one, muted=True) for one in self.incident.muted)]

    @property
    def warnings(self) -> list[str]:
        """Lines on what could not be read."""
        return self.chosen.warnings

    @property
    def exit_code(self) -> ExitCode:
        """5 where a month could not be read."""
        return ExitCode.INCOMPLETE if self.chosen.left_out else ExitCode.OK


def incidents_in(
    history: Place | str | Storage,
    wanted: Wanted = _EVERYTHING,
    processes: int = 1,
    *,
    mutes: Sequence[Mute] = (),
    groups: Mapping[str, frozenset[str]] | None = None,
) -> FoundIncidents:
    """The incidents of a history.

    Args:
        history: Its folder, ``s3://BUCKET/PREFIX``, or a storage.
        wanted: Which clusters; and only incidents that were seen from one moment to another. What came before and after
            is read all the same, so that an incident is the same one however much is asked for.
        processes: Number of processes that share the clusters.
        mutes: Findings and incidents that these cover do not count, nor do incidents with nothing else behind them.
        groups: Groups of clusters that are to be alike, each with the ids or names of its clusters.

    Raises:
        InputError: There is no history, or a file is damaged.
        UsageError: It holds no such cluster, or tells nothing of the time that is wanted.
    """
    storage = storage_of(history)
    tables = sorted({*tables_read(), *(schema.name for schema in TABLES_READ), STEPS.name, *EXACT_TABLES})
    chosen = choose(storage, Wanted(wanted.clusters), tables, logs=True)
    if not chosen.months:
        chosen.refuse_damaged()
        if not wanted.clusters:
            raise nothing_wanted(storage, Wanted())
        raise UsageError(f"{storage.named('')} holds no cluster that is wanted", fix="look at --cluster")
    if not any(_tells_of(months, wanted) for months in chosen.by_cluster().values()):
        raise nothing_wanted(storage, wanted)
    newest = newest_ms_in(storage) if wanted.clusters else None
    asked = Circumstances(newest_ms(chosen) if newest is None else newest, None, groups or {})
    work = _Work(asked, frozenset(mute.rule for mute in mutes))
    clusters = side_by_side(work, list(chosen.by_cluster().values()), processes)
    drifts = list(between_clusters([one.settings for one in clusters if one.settings is not None], asked))
    names = {one.cluster: one.name for one in clusters}
    stretches = [*(stretch for one in clusters for stretch in one.stretches), *map(stretch_of, drifts)]
    begins = {one.cluster: one.begin for one in clusters}
    applied = apply_mutes(mutes, stretches, names, begins)
    hidden = muted_keys(applied)
    told = [with_drifts(one.told, [drift for drift in drifts if drift.cluster == one.cluster]) for one in clusters]
    hidden_in = _by_cluster(hidden)
    every = [one.without(hidden_in.get(one.cluster, ())).packed() for some in told for one in some.incidents]
    counting = [_stretch_of_incident(one) for one in every if not one.is_planned and not one.is_muted]
    kinds = apply_mutes(mutes, counting, names, begins, of="incident")
    found = [one for one in _silenced(every, muted_keys(kinds)) if _is_inside(one, wanted)]
    return FoundIncidents(
        sorted((one for one in found if not one.is_muted), key=incident_order),
        _left_over(told, wanted, hidden),
        names,
        sum(_snapshots_in(month, wanted) for month in chosen.months),
        chosen,
        muted=sorted((one for one in found if one.is_muted), key=incident_order),
        mutes=[*applied, *kinds],
    )


def _by_cluster(hidden: Iterable[Key]) -> Mapping[str, Collection[Key]]:
    found: dict[str, set[Key]] = {}
    for key in hidden:
        found.setdefault(key[0], set()).add(key)
    return found


def _left_over(told: Iterable[Told], wanted: Wanted, hidden: Collection[Key]) -> GatheredFindings:
    """Findings that no cause explains, without those that were not on in the time that is wanted or are muted."""
    every = GatheredFindings(packed(one.left_over) for one in told)
    if wanted.since is None and wanted.until is None and not hidden:
        return every  # nothing has to be looked at
    return every.where(lambda one: _is_inside(one, wanted) and (one.cluster, one.rule, one.topic) not in hidden)


@dataclass(frozen=True, slots=True)
class _ToldCluster:
    cluster: str
    name: str
    begin: datetime
    told: Told
    stretches: Sequence[Stretch]
    settings: PresentSettings | None


@dataclass(frozen=True, slots=True)
class _Work:
    asked: Circumstances
    muted: frozenset[str]

    def __call__(self, months: Sequence[HistoryMonth]) -> _ToldCluster:
        history = ClusterHistory(months)
        told = incidents_of(history, judge_cluster(history, self.asked))
        return _ToldCluster(
            history.cluster,
            history.name,
            moment_of(int(history.times[0])),
            replace(told, findings=()).packed(),
            [stretch_of(one) for one in told.findings if one.rule in self.muted],
            cluster_drift.present_settings(history) if self.asked.groups else None,
        )


def stretch_of(one: FleetFinding) -> Stretch:
    """A finding as mutes count it."""
    times = (one.valid_from_ms, one.last_seen_ms, one.valid_to_ms)
    return Stretch(one.cluster, one.rule, one.severity, one.topic, *times, 1)


def _stretch_of_incident(one: Incident) -> Stretch:
    """An incident as mutes of its kind count it."""
    return Stretch(one.cluster, one.kind, one.severity, None, one.valid_from_ms, one.last_seen_ms, one.valid_to_ms, 1)


def _silenced(every: Iterable[Incident], hidden: Collection[Key]) -> Iterator[Incident]:
    """The incidents, those of kinds that are muted as such; what was planned counts nowhere anyway."""
    for one in every:
        yield one.silenced().packed() if not one.is_planned and (one.cluster, one.kind, None) in hidden else one


def with_drifts(told: Told, drifts: Sequence[FleetFinding]) -> Told:
    """Incidents of a cluster with the settings in which it is not as its group: behind the change that made it so.

    Args:
        told: The incidents, and what none explains.
        drifts: Findings of ``cluster-drift`` in the cluster.
    """
    if not drifts:
        return told
    incidents, left_over = list(told.incidents), list(told.left_over)
    for drift in drifts:
        at = next((at for at, one in enumerate(incidents) if _made(one, drift)), None)
        if at is None:
            left_over.append(drift)
        else:
            behind = sorted([*incidents[at].findings, drift], key=finding_order)
            incidents[at] = replace(incidents[at], findings=behind)
    return replace(told, incidents=incidents, left_over=left_over)


def _made(incident: Incident, drift: FleetFinding) -> bool:
    """True if an incident is the change of a setting that made a cluster other than its group."""
    if incident.kind != IncidentKind.SETTING or incident.evidence["setting"] != drift.evidence["setting"]:
        return False
    topics, own = drift.evidence["topics"], incident.evidence["topics"]
    assert isinstance(topics, list), "a drift names the topics"
    assert isinstance(own, list), "a change of a setting names the topics"
    since = incident.valid_from_ms <= drift.valid_from_ms <= incident.last_seen_ms
    return since and (not topics or not set(topics).isdisjoint(own))


MOST_IDS = 3
"""Ids of incidents that an error tells."""


def incident_in(
    history: Place | str | Storage,
    incident: str,
    wanted: Wanted = _EVERYTHING,
    processes: int = 1,
    *,
    mutes: Sequence[Mute] = (),
    groups: Mapping[str, frozenset[str]] | None = None,
) -> FoundIncident:
    """One incident of a history.

    Args:
        history: Its folder, ``s3://BUCKET/PREFIX``, or a storage.
        incident: Its id, or the beginning of it.
        wanted: Which clusters to look for it in; where none are named nor compared, only those that the id tells of.
        processes: Number of processes that share the clusters.
        mutes: Findings that these cover do not count, nor do those of incidents.
        groups: Groups of clusters that are to be alike, each with the ids or names of its clusters.

    Raises:
        InputError: There is no history, or a file is damaged.
        UsageError: It holds no such incident, or several.
    """
    storage, clusters = storage_of(history), wanted.clusters
    if not incident:
        raise UsageError("the id of the incident is empty", fix=_list_of(storage))
    if not clusters and not groups:
        told = clusters_that_may_have(incident, storage)
        if told == ():
            raise _no_incident(incident, storage)
        clusters = told or ()
    found = incidents_in(storage, Wanted(clusters), processes, mutes=mutes, groups=groups)
    every = [*found.incidents, *found.muted]
    fitting = [one for one in every if one.id.startswith(incident)]
    if len(fitting) == 1:
        return FoundIncident(fitting[0], found.names[fitting[0].cluster], found.chosen)
    if fitting:
        told_ids = listed([one.id for one in fitting], MOST_IDS)
        raise UsageError(f"{counted(len(fitting), 'incident')} begin with {incident}", told_ids, "type more of the id")
    raise _no_incident(incident, storage, [one.id for one in every])


def _no_incident(incident: str, storage: Storage, ids: Sequence[str] = ()) -> UsageError:
    """Makes the error of an id that no incident has, with those of the clusters that were looked at."""
    near = nearest_names(incident, ids)
    others = f"did you mean {', '.join(near)}?" if near else ""
    return UsageError(f"{storage.named('')} holds no incident {incident}", others, _list_of(storage))


def _list_of(storage: Storage) -> str:
    return f"kreplica audit incidents {shlex.quote(storage.named(''))} lists them"


def _is_inside(one: Incident | FleetFinding, wanted: Wanted) -> bool:
    """True if it was on at any time that is wanted."""
    late = wanted.until is not None and one.valid_from_ms > _milliseconds(wanted.until)
    return not late and (wanted.since is None or one.last_seen_ms >= _milliseconds(wanted.since))


def _tells_of(months: Sequence[HistoryMonth], wanted: Wanted) -> bool:
    """True if any snapshot or record of a cluster may be of the time that is wanted."""
    if wanted.since is None and wanted.until is None:
        return True
    times = Moments(Line(months)).times
    late = wanted.until is not None and int(times[0]) > _milliseconds(wanted.until)
    return not late and (wanted.since is None or int(times[-1]) >= _milliseconds(wanted.since))


def _snapshots_in(month: HistoryMonth, wanted: Wanted) -> int:
    """Number of snapshots of a month that are of the time that is wanted."""
    since = None if wanted.since is None else _milliseconds(wanted.since)
    until = None if wanted.until is None else _milliseconds(wanted.until)
    return sum((since is None or one >= since) and (until is None or one <= until) for one in month.times.tolist())


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
