"""Settings that clusters of one group do not have alike, as their newest snapshots tell them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.rule import FleetRule
from kreplica.fleet.rules.settings.config_drift import OWN
from kreplica.fleet.rules.settings.setting_changed import DEFAULT, PASSING
from kreplica.health.rules import Severity
from kreplica.model.tables.columns import Integers
from kreplica.model.tables.schema import CONFIGS, PARTITIONS
from kreplica.model.wording.words import counted, named

NAME = "cluster-drift"
CLUSTERS_OWN = re.compile(r"zookeeper\.connect|controller\.quorum\.(voters|bootstrap\.servers)|super\.users")
"""Settings that are each cluster's own, besides those that are each broker's."""
TOPICS_OWN = ("topic", "unknown")
"""Origins of what is set on a topic itself: the rest of it is what its brokers are set to."""
MOST_NAMED = 5

Key = tuple[str, str, str]
"""Entity type, topic (empty for all brokers of a cluster) and setting."""


@dataclass(frozen=True, slots=True)
class Held:
    """The present value of a setting in a cluster.

    Args:
        value: The value; None where nobody has set it.
        before_ms: The last moment that says otherwise; None if none does.
        first_ms: The first moment that shows it.
        is_default: Whether nobody has set it, and the source tells what holds then.
    """

    value: str | None
    before_ms: int | None
    first_ms: int
    is_default: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PresentSettings:
    """Settings of a cluster as of its newest snapshot.

    Args:
        cluster: The cluster's label.
        name: Its name.
        times: Milliseconds of the snapshots that tell settings, in order.
        values: Values by key; None where a value is not shown.
        taken_away: Of settings that somebody took away, the last moment with and the first one without.
        topics: The topics that there are, each with the first moment that shows it.
        brokers: Whether settings of brokers are told.
    """

    cluster: str
    name: str
    times: Integers
    values: Mapping[Key, Held | None]
    taken_away: Mapping[Key, tuple[int, int]]
    topics: Mapping[str, int]
    brokers: bool

    @property
    def ids(self) -> frozenset[str]:
        """Its label and its name: a group has one of them."""
        return frozenset((self.cluster, self.name))

    def held(self, key: Key) -> Held | None:
        """State of a setting as it is known; None where it is not known, or its topic is not there."""
        kind, topic, _ = key
        if key in self.values:
            return self.values[key]
        if not self.brokers if kind == "broker" else topic not in self.topics:
            return None
        made = self.topics.get(topic, int(self.times[0]))
        with_it, without = self.taken_away.get(key, (None, made))
        return Held(None, None, max(int(self.times[0]), made)) if without <= made else Held(None, with_it, without)


def present_settings(history: ClusterHistory) -> PresentSettings | None:
    """Settings of a cluster as of its newest snapshot; None if it has none that list all of them.

    Raises:
        InputError: A file is damaged, or not there.
    """
    table = history.configs
    if not len(table) or not len(table.listing):
        return None
    kinds, entities, names = (table.strings(column) for column in ("entity_type", "entity", "name"))
    values, origins, runs = table.strings("value"), table.strings("origin"), table.runs
    found: dict[Key, list[Held | None]] = defaultdict(list)
    gone: dict[Key, tuple[int, int]] = {}
    for row in range(len(table)):
        key = _key(str(kinds[row]), str(entities[row]), str(names[row]), str(origins[row]))
        if key is None:
            continue
        if runs.ended[row] >= 0:
            last, ended = (int(history.times[number]) for number in (runs.last[row], runs.ended[row]))
            gone[key] = max(gone.get(key, (last, ended)), (last, ended), key=lambda one: one[1])
            continue
        before, value = table.seen_before(row), values[row]
        before_ms = None if before < 0 else int(history.times[before])
        held = Held(value, before_ms, int(history.times[runs.first[row]]), origins[row] == DEFAULT)
        found[key].append(None if value is None else held)
    topics = _topics(history)
    return PresentSettings(
        history.cluster,
        history.name,
        history.times[table.tellers],
        {key: _of_most(some) for key, some in found.items()},
        {key: times for key, times in gone.items() if key not in found},
        topics,
        any(kind == "broker" for kind, _, _ in found),
    )


def _key(kind: str, entity: str, name: str, origin: str) -> Key | None:
    """The key of a setting; None for those that are not compared."""
    if kind == "topic" and origin in TOPICS_OWN and not PASSING.fullmatch(name):
        return kind, entity, name
    compared = kind == "broker" and not OWN.fullmatch(name) and not CLUSTERS_OWN.fullmatch(name)
    return (kind, "", name) if compared else None


def _of_most(some: Sequence[Held | None]) -> Held | None:
    """The value that most brokers have, since the first of them has it; None where one does not show its own."""
    shown = [one for one in some if one is not None]
    if len(shown) < len(some):
        return None
    value = _most(one.value for one in shown)
    return min((one for one in shown if one.value == value), key=lambda one: one.first_ms)


def _most(values: Iterable[str | None]) -> str | None:
    """The value that there is most often; of several the first one by name."""
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value is None, value or ""))


def _topics(history: ClusterHistory) -> dict[str, int]:
    table = history.partitions
    if not len(table):
        return {}
    begun = np.arange(len(table))  # row with which a partition's topic began: what changes later is the same topic
    for before, after in zip(*(rows.tolist() for rows in table.changes), strict=True):
        begun[after] = begun[before]
    topics, found = table.strings("topic"), dict[str, int]()
    for row in np.flatnonzero(table.runs.ended < 0).tolist():
        topic, first = str(topics[row]), int(history.times[table.runs.first[begun[row]]])
        found[topic] = min(found.get(topic, first), first)
    return found


def find_between(group: str, clusters: Sequence[PresentSettings]) -> Iterator[FleetFinding]:
    """Settings of clusters that are others than most clusters of their group have.

    Args:
        group: The group's name.
        clusters: Its clusters.
    """
    keys = sorted({key for one in clusters for key in one.values})
    found: dict[tuple[int, str, str, str | None, str | None], list[_Drift]] = defaultdict(list)
    for kind, topic, name in keys:
        for drift in _drifts(clusters, (kind, topic, name)):
            found[drift.cluster, kind, name, drift.here.value, drift.most].append(drift)
    for (place, kind, name, here, most), drifts in found.items():
        yield _finding(group, clusters[place], kind, name, here, most, drifts)


@dataclass(frozen=True, slots=True)
class _Drift:
    """A setting in which a cluster, by its place, is not like most; begun when both it and most had their values."""

    cluster: int
    topic: str
    here: Held
    most: str | None
    begin: Held
    alike: tuple[str, ...]
    known: int


def _drifts(clusters: Sequence[PresentSettings], key: Key) -> Iterator[_Drift]:
    told = {place: held for place, one in enumerate(clusters) if (held := one.held(key)) is not None}
    if any(held.value is None for held in told.values()):  # what holds there is the default of that release
        told = {place: replace(held, value=None) if held.is_default else held for place, held in told.items()}
    if len({held.value for held in told.values()}) < 2:
        return
    most = _most(held.value for held in told.values())
    alike = [place for place, held in told.items() if held.value == most]
    others = max(count for value, count in Counter(held.value for held in told.values()).items() if value != most)
    by_time = sorted((told[place] for place in alike), key=lambda held: held.first_ms)
    stood = by_time[min(others, len(by_time) - 1)]  # from then on more clusters had it than have any other value
    names = tuple(sorted(clusters[place].name for place in alike))
    for place, held in told.items():
        if held.value != most:
            begin = max(held, stood, key=lambda one: one.first_ms)
            yield _Drift(place, key[1], held, most, begin, names, len(told))


def _finding(
    group: str,
    cluster: PresentSettings,
    kind: str,
    name: str,
    here: str | None,
    most: str | None,
    drifts: Sequence[_Drift],
) -> FleetFinding:
    begin = min((one.begin for one in drifts), key=lambda one: one.first_ms)
    topics = sorted(one.topic for one in drifts) if kind == "topic" else []
    last_ms = max(begin.first_ms, int(cluster.times[-1]))
    inside = cluster.times[cluster.times >= begin.first_ms]
    of, one = named("topic", topics, MOST_NAMED) if topics else "brokers", drifts[0]
    others = f"{len(one.alike)} of {counted(one.known, 'cluster')} of group {group}"
    return FleetFinding(
        cluster=cluster.cluster,
        rule=NAME,
        severity=Severity.INFO,
        certainty=Certainty.PROVED,
        begun_after_ms=begin.before_ms,
        valid_from_ms=begin.first_ms,
        last_seen_ms=last_ms,
        valid_to_ms=None,
        snapshots=len(inside),
        longest_interval_ms=int(np.diff(inside).max(initial=0)),
        in_newest=True,
        message=f"{name} of {of} is {_word(here)} here, {_word(most)} in {others}",
        topic=topics[0] if len(topics) == 1 else None,
        evidence={
            "group": group,
            "setting": name,
            "entity_type": kind,
            "topics": topics,
            "here": here,
            "most": most,
            "alike": list(one.alike),
        },
    )


def _word(value: str | None) -> str:
    return "not set" if value is None else value


RULE = FleetRule(
    NAME,
    Severity.INFO,
    (CONFIGS, PARTITIONS),
    "a setting of brokers, or of a topic that others have as well, is not what most clusters of the group have; judged"
    " where --group names one",
    "set it alike in all of them, unless it was meant",
    None,
)
