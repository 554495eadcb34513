"""Causes over time: brokers that are down, alone, by rack or together, one after the other in a rolling restart;
log directories, settings that changed, and what describe finds where none of these explains it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty
from kreplica.fleet.incidents.incident import LOST, IncidentKind
from kreplica.fleet.incidents.scenes import PartitionId, Scene, spans_of
from kreplica.fleet.incidents.shown import Shown, holding
from kreplica.fleet.rules.absences import RESTART_MS
from kreplica.health.causes.explain import Explanation
from kreplica.health.causes.facts import offline_directories
from kreplica.health.causes.smallest_set import Culprit, Key, find_culprits
from kreplica.history.coding import NOTHING
from kreplica.history.tables import OBSERVATION, TABLES
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Indices
from kreplica.model.tables.schema import LOG_DIRS
from kreplica.model.tables.table import Table
from kreplica.model.wording.words import listed, named

_LOG_DIRS = next(table for table in TABLES if table.of is LOG_DIRS)
TOGETHER_MS = 60_000
"""Brokers that go down within so long go down together: controllers notice one session timeout after the other."""
FULL_SHARE = 0.02
"""A log directory is full that has less left of its volume."""


@dataclass(frozen=True, eq=False)
class Cause:
    """A cause over time.

    Args:
        kind: As an Incident has it.
        key: As an Incident has it.
        certainty: How sure.
        begin: Place of the first scene that shows it.
        end: Place of the first later scene that does not; None if none does.
        span: Numbers of observations.
        brokers: The brokers that it concerns.
        partitions: The partitions that it concerns; None where the brokers decide.
        evidence: The facts behind it.
        in_logs: Whether metadata logs tell of it, where there are any.
    """

    kind: str
    key: str
    certainty: Certainty
    begin: int
    end: int | None
    span: Span
    brokers: tuple[int, ...] = ()
    partitions: frozenset[PartitionId] | None = None
    evidence: dict[str, object] = field(default_factory=dict)
    in_logs: bool = True

    @cached_property
    def topics(self) -> frozenset[str]:
        """The topics of these partitions."""
        return frozenset(topic for topic, _ in self.partitions or ())

    def is_on(self, place: int) -> bool:
        """True if it may explain what a scene is the first to show: replicas catch up when it is over."""
        return self.begin <= place and (self.end is None or place <= self.end)


@dataclass(frozen=True, slots=True)
class _Down:
    broker: int
    begin: int
    end: int | None
    span: Span


class Ground:
    """The ground on which causes are found: scenes, times and racks.

    Args:
        history: The cluster.
        scenes: Its scenes.
    """

    def __init__(self, history: ClusterHistory, scenes: Sequence[Scene]) -> None:
        self.history, self.scenes = history, scenes
        tellers = history.partitions.tellers
        self.newest = int(tellers[-1]) if len(tellers) else 0
        waits = np.diff(history.line.times)
        usual = int(np.median(waits)) if len(waits) else 0
        # Between two restarts of a rolling one lies no more; where nobody looked, two usual intervals pass for it.
        self.restart_ms = max(RESTART_MS, 2 * usual)

    @cached_property
    def free_space(self) -> dict[int, list[tuple[str, int, int]]]:
        """Samples of the space left in the log directories of each broker: path, observation, bytes; by time."""
        found: dict[int, list[tuple[str, int, int]]] = defaultdict(list)
        for month, shift in self.history.line.numbered():
            table = month.samples(_LOG_DIRS)
            names = ("broker", "path", OBSERVATION, "usable_bytes")
            for broker, path, number, usable in zip(*(table[name].to_list() for name in names), strict=True):
                if usable is not None and number in month.inside:
                    moment = int(self.history.moments.seen[int(number) + shift])
                    found[int(broker)].append((str(path), moment, int(usable)))
        return {broker: sorted(some, key=lambda one: one[1]) for broker, some in found.items()}

    def ms(self, number: int) -> int:
        """Milliseconds of an observation."""
        return int(self.history.times[number])

    def until(self, number: int) -> int:
        """Milliseconds up to which what an observation shows is known to hold."""
        return int(self.history.held_until[number])

    def place(self, number: int) -> int:
        """Place of the last scene up to an observation; 0 where there is none."""
        return max(bisect_right(self.scenes, number, key=lambda scene: scene.number) - 1, 0)

    @cached_property
    def places(self) -> dict[int, int]:
        """Place of each scene by its observation."""
        return {scene.number: place for place, scene in enumerate(self.scenes)}

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The first observation of each time."""
        return {moment: number for number, moment in reversed(list(enumerate(self.history.times.tolist())))}

    @cached_property
    def _racks(self) -> list[dict[int, str]]:
        """The rack of each broker as it was last told up to each scene."""
        found: list[dict[int, str]] = []
        told: dict[int, str] = {}
        around = self.scenes[0].stage.around if self.scenes else []
        for at, snapshot in enumerate(around):
            if at == 0 or snapshot is not around[at - 1]:
                told = {**told, **snapshot.racks}
            found.append(told)
        return found

    def racks(self, place: int) -> dict[int, str]:
        """The rack of each broker, as it was last told up to a scene."""
        return self._racks[place]

    def brokers(self, place: int) -> frozenset[int]:
        """Brokers that are registered or hold replicas at a scene."""
        return frozenset(self.scenes[place].stage.broker_ids(place).tolist())


def causes_of(ground: Ground) -> list[Cause]:
    """Causes that states of brokers, log directories and settings show."""
    groups = _groups(ground, _downs(ground))
    rolls, rest = _rolling(ground, groups)
    found = [*rolls, *(_down_cause(ground, group) for group in rest)]
    return [*found, *_directories(ground), *_without_returns(list(_settings(ground)))]


def _without_returns(settings: Sequence[Cause]) -> list[Cause]:
    """Changes of settings, but for those that take back another one: they are its end."""
    ends = {(one.end, one.evidence["setting"], one.partitions) for one in settings}
    return [one for one in settings if (one.begin, one.evidence["setting"], one.partitions) not in ends]


def _downs(ground: Ground) -> list[_Down]:
    every = frozenset[int]().union(*(scene.down for scene in ground.scenes))
    found = []
    for broker in sorted(every):
        holds = [broker in scene.down for scene in ground.scenes]
        _registering(ground, broker, holds)
        _shutting_down(ground, broker, holds)
        found += [_Down(broker, *span) for span in spans_of(ground.scenes, ground.newest, holds)]
    return sorted(found, key=lambda one: (one.begin, one.broker))


def _registering(ground: Ground, broker: int, holds: list[bool]) -> None:
    """Takes back that a broker is down from its registration until it knows the metadata: it was never up before.

    The controller keeps a broker fenced until then (BrokerHeartbeatManager). One that takes longer than a restart does
    is down all the same.
    """
    begin = holds.index(True)
    end = next((place for place in range(begin, len(holds)) if not holds[place]), None)
    if begin == 0 or end is None or broker in ground.brokers(begin - 1):
        return
    if ground.ms(ground.scenes[end].number) - ground.ms(ground.scenes[begin].number) <= ground.restart_ms:
        holds[begin:end] = [False] * (end - begin)


def _shutting_down(ground: Ground, broker: int, holds: list[bool]) -> None:
    """Marks the scenes right before a broker is down in which it has left all ISRs: it shuts down in order.

    One that was out for longer than a restart takes was so for a reason of its own, as was one that was down before.
    """
    for place in range(1, len(holds)):
        if not holds[place] or holds[place - 1]:
            continue
        first = place
        while first > 0 and broker in ground.scenes[first - 1].out_of_all and not holds[first - 1]:
            first -= 1
        seen = ground.ms(ground.scenes[place].before) - ground.ms(ground.scenes[first].number)
        if 0 < first < place and not holds[first - 1] and seen <= RESTART_MS:
            holds[first:place] = [True] * (place - first)


def _groups(ground: Ground, downs: Iterable[_Down]) -> list[list[_Down]]:
    """Brokers that went down together."""
    found: list[list[_Down]] = []
    for one in downs:
        same = found and ground.ms(one.span.first) - ground.ms(found[-1][0].span.first) <= TOGETHER_MS
        if same and all(other.end is None or other.end > one.begin for other in found[-1]):
            found[-1].append(one)
        else:
            found.append([one])
    return found


def _rolling(ground: Ground, groups: Sequence[list[_Down]]) -> tuple[list[Cause], list[list[_Down]]]:
    """Rolling restarts, and the groups that are part of none."""
    rolls: list[Cause] = []
    rest: list[list[_Down]] = []
    chain: list[_Down] = []
    for group in [*groups, []]:
        if len(group) == 1 and _is_restart(ground, group[0]) and (not chain or _follows(ground, chain, group[0])):
            chain.append(group[0])
            continue
        _end_chain(ground, chain, rolls, rest)
        chain = []
        if len(group) == 1 and _is_restart(ground, group[0]):
            chain = [group[0]]
        elif group:
            rest.append(group)
    return rolls, rest


def _is_restart(ground: Ground, one: _Down) -> bool:
    lasts = one.end is not None and ground.ms(one.span.ended) - ground.ms(one.span.first) <= ground.restart_ms
    return lasts and one.span.before >= 0


def _follows(ground: Ground, chain: Sequence[_Down], one: _Down) -> bool:
    before = chain[-1].span
    soon = 0 <= ground.ms(one.span.first) - ground.ms(before.ended) <= ground.restart_ms
    return soon and one.broker not in {other.broker for other in chain}


def _end_chain(ground: Ground, chain: Sequence[_Down], rolls: list[Cause], rest: list[list[_Down]]) -> None:
    everyone = ground.brokers(chain[0].begin) if chain else frozenset[int]()
    if len(chain) < 2 or 2 * len(chain) <= len(everyone):
        rest.extend([one] for one in chain)
        return
    first, last = chain[0], chain[-1]
    assert last.end is not None, "a restart has an end"
    span = Span(first.span.before, first.span.first, last.span.last, last.span.ended)
    brokers = tuple(one.broker for one in chain)
    versions = [_versions(ground, place) for place in (first.begin - 1, last.end)]
    changed = sum(versions[0].get(one) != versions[1].get(one) for one in brokers)
    rolls.append(
        Cause(
            IncidentKind.ROLLING_RESTART,
            f"brokers {listed([str(one) for one in sorted(brokers)])}",
            Certainty.PROVED if changed == len(brokers) else Certainty.LIKELY,
            first.begin,
            last.end,
            span,
            brokers,
            evidence={"order": list(brokers), "brokers": len(everyone), "other_version": changed},
        )
    )


def _versions(ground: Ground, place: int) -> dict[int, object]:
    return {int(str(row["broker"])): row["version"] for row in ground.scenes[max(place, 0)].brokers.rows()}


def _down_cause(ground: Ground, group: Sequence[_Down]) -> Cause:
    begin = group[0].begin
    ends = [one.end for one in group]
    end = None if None in ends else max(one for one in ends if one is not None)
    newest = max(group, key=lambda one: (one.end is None, one.end or 0, one.span.last)).span
    span = Span(group[0].span.before, group[0].span.first, newest.last, newest.ended)
    brokers = tuple(sorted(one.broker for one in group))
    kind, key, certainty = _name_of(ground, begin, brokers)
    evidence: dict[str, object] = {"brokers": len(ground.brokers(begin))}
    if len(brokers) == 1 and (full := _full_before(ground, brokers[0], span.first)):
        kind, certainty, evidence = IncidentKind.FULL_DISK, Certainty.LIKELY, {**evidence, **full}
    return Cause(kind, key, certainty, begin, end, span, brokers, evidence=evidence)


def _name_of(ground: Ground, place: int, brokers: Sequence[int]) -> tuple[IncidentKind, str, Certainty]:
    names = listed([str(one) for one in brokers])
    if len(brokers) == 1:
        return IncidentKind.BROKER_DOWN, f"broker {names}", Certainty.PROVED
    racks = ground.racks(place)
    own = {racks.get(one) for one in brokers}
    rack = next(iter(own))
    if len(own) == 1 and rack is not None and {one for one in racks if racks[one] == rack} == set(brokers):
        return IncidentKind.RACK_DOWN, f"rack {rack}", Certainty.LIKELY
    everyone = len(ground.brokers(place))
    if everyone > len(brokers) and 2 * len(brokers) >= everyone - 1:
        return IncidentKind.NETWORK_HALF, f"brokers {names}", Certainty.POSSIBLE
    return IncidentKind.BROKERS_DOWN, f"brokers {names}", Certainty.LIKELY


def _full_before(ground: Ground, broker: int, number: int, path: str | None = None) -> dict[str, object]:
    """The fullest log directory of a broker in the last sample up to an observation, if it was full."""
    totals: dict[str, object] = {}
    before: Table | None = None
    for scene in ground.scenes[: ground.place(number) + 1]:
        if scene.number <= number and scene.log_dirs is not before:
            before = scene.log_dirs
            own = (row for row in before.rows() if row["broker"] == broker and row["total_bytes"] is not None)
            totals.update((str(row["path"]), row["total_bytes"]) for row in own)
    last = {where: usable for where, at, usable in ground.free_space.get(broker, ()) if at <= number}
    for where, usable in sorted(last.items()):
        total = totals.get(where)
        if (path is None or where == path) and isinstance(total, int) and usable < FULL_SHARE * total:
            return {"log_dir": where, "usable_bytes": usable, "total_bytes": total}
    return {}


def _directories(ground: Ground) -> Iterator[Cause]:
    """Log directories that are offline while their broker is up."""
    tables = {id(scene.log_dirs): scene.log_dirs for scene in ground.scenes}
    offline = {key: offline_directories(table) for key, table in tables.items()}
    some = [offline[id(scene.log_dirs)] for scene in ground.scenes]
    places = sorted({(broker, path) for one in some for broker, paths in one.items() for path in paths})
    for broker, path in places:
        holds = [path in one.get(broker, ()) for one in some]
        for begin, end, span in spans_of(ground.scenes, ground.newest, holds):
            if broker in ground.scenes[begin].down:
                continue
            full = _full_before(ground, broker, span.first, path)
            kind = IncidentKind.FULL_DISK if full else IncidentKind.LOG_DIRECTORY_OFFLINE
            certainty = Certainty.LIKELY if full else Certainty.PROVED
            evidence = full or {"log_dir": path}
            key = f"{path} of broker {broker}"
            yield Cause(kind, key, certainty, begin, end, span, (broker,), evidence=dict(evidence), in_logs=False)


_SETTINGS = {"min_isr": "min.insync.replicas", "unclean_leader_election": "unclean.leader.election.enable"}


def _settings(ground: Ground) -> Iterator[Cause]:
    """Settings of partitions that changed while their replicas in sync did not: what breaks then is their doing."""
    if not ground.scenes:
        return
    shown = ground.scenes[0].stage.partitions
    before, after = shown.successions
    same = np.logical_and.reduce(
        [shown.codes(name)[before] == shown.codes(name)[after] for name in ("isr", "topic_id")]
    )
    changed: dict[tuple[int, str, object, object], list[int]] = defaultdict(list)
    for name in _SETTINGS:
        codes, column = shown.codes(name), shown.columns[name]
        known = (codes[before] > NOTHING) & (codes[after] > NOTHING)
        for at in np.flatnonzero(same & known & (codes[before] != codes[after])).tolist():
            old, new = int(before[at]), int(after[at])
            changed[int(shown.places.begin[new]), name, column[old], column[new]].append(new)
    for (place, name, old_value, value), rows in sorted(
        changed.items(), key=lambda item: (item[0][0], str(item[0][1:]))
    ):
        yield from _setting(ground, shown, place, (name, old_value, value), rows)


def _setting(
    ground: Ground, shown: Shown, place: int, change: tuple[str, object, object], rows: Sequence[int]
) -> Iterator[Cause]:
    """The cause that one change of a setting is; ``rows`` are those of the partitions after it."""
    name, old_value, value = change
    names = [shown.columns[key].take(np.array(rows)).to_list() for key in ("topic", "partition")]
    partitions = frozenset((str(topic), int(str(number))) for topic, number in zip(*names, strict=True))
    text = f"{_SETTINGS[name]} {_spelled(old_value)} -> {_spelled(value)}"
    topics = sorted({topic for topic, _ in partitions})
    evidence: dict[str, object] = {"setting": _SETTINGS[name], "before": old_value, "after": value, "topics": topics}
    key_text = text if len(topics) > 1 else f"{text} of {topics[0]}"
    # It ends with what it breaks, which is known once findings are told apart.
    own = np.isin(shown.keys, shown.keys[rows]) & (shown.codes(name) == shown.codes(name)[rows[0]])
    holds = holding(shown.scenes, shown.places.take(own)).tolist()
    for begin, end, span in spans_of(ground.scenes, ground.newest, holds):
        if begin == place:
            yield Cause(
                IncidentKind.SETTING,
                key_text,
                Certainty.PROVED,
                begin,
                end,
                span,
                partitions=partitions,
                evidence=evidence,
            )


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def culprits_at(ground: Ground, place: int, partitions: Iterable[PartitionId]) -> list[Cause]:
    """The causes of describe for partitions that nothing else explains, each as it is at one scene.

    Args:
        ground: The ground.
        place: The scene that first shows them.
        partitions: The partitions.
    """
    scene = ground.scenes[place]
    snapshot = scene.snapshot
    verdict = find_culprits(Explanation(Evaluator(snapshot)), _rows_of(snapshot, partitions))
    span = Span(scene.before, scene.number, scene.number)
    sure = [_of_key(one.key, place, span, one) for one in verdict.culprits if one.key.kind not in LOST]
    only = {key: None for question in verdict.open if len(question.choices) == 1 for key in question.choices[0]}
    return [*sure, *(_of_key(key, place, span) for key in only if key.kind not in LOST)]


def _rows_of(snapshot: ClusterSnapshot, partitions: Iterable[PartitionId]) -> Indices:
    """Rows of partitions in a snapshot, in order; those that it lacks are left out."""
    topics, numbers = snapshot.strings("topic"), snapshot.integers("partition").values
    codes = {name: code for code, name in enumerate(topics.dictionary)}
    wanted = [codes[topic] << 32 | partition for topic, partition in partitions if topic in codes]
    return np.flatnonzero(np.isin(topics.codes.astype(np.int64) << 32 | numbers, wanted))


def _of_key(key: Key, place: int, span: Span, culprit: Culprit | None = None) -> Cause:
    """A cause of describe: one that facts single out, one that is the simplest left, or the only choice."""
    brokers = culprit.brokers if culprit is not None else () if key.broker is None else (key.broker,)
    words = named("broker", brokers) if brokers else "replication"
    if key.rack is not None:
        words = f"rack {key.rack}"
    elif key.leader is not None:
        words = f"broker {key.leader} to {key.broker}"
    certainty = Certainty.LIKELY if culprit is not None and culprit.certain else Certainty.POSSIBLE
    evidence = {} if culprit is None else dict(culprit.evidence)
    return Cause(key.kind, words, certainty, place, None, span, brokers, evidence=evidence)


def lasting(cause: Cause, spans: Sequence[tuple[int | None, Span]]) -> Cause:
    """A cause of one scene that lasts as long as what it explains.

    Args:
        cause: The cause.
        spans: Place of the end, and span, of each finding that it explains.
    """
    if not spans:
        return cause
    latest = max(spans, key=lambda one: (one[1].ended < 0, one[1].last, one[1].ended))
    return replace(
        cause, end=latest[0], span=Span(cause.span.before, cause.span.first, latest[1].last, latest[1].ended)
    )
