"""The facts that rules of causes judge: the missing replicas as arrays, and what is known of every broker.

Which replicas a replication throttle holds back, from the settings in a snapshot (KIP-73).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np

from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.partitions import ADDING, MISSING
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import BoolColumn, Integers, IntListColumn, Mask, StringColumn
from kreplica.model.tables.table import Table
from kreplica.model.throttles import (
    FOLLOWER_LIST,
    FOLLOWER_RATE,
    LEADER_LIST,
    LEADER_RATE,
    ThrottledReplicas,
    parse_throttle_list,
    parse_throttle_rate,
)

_NONE = ThrottledReplicas(False, frozenset())


@dataclass(frozen=True, slots=True)
class Throttles:
    """Throttles of a cluster.

    Args:
        leaders, followers: The replicas that a topic's lists name, by topic; topics without a list are left out.
        leader_rates, follower_rates: Bytes a second by broker; brokers without a limit are left out.
    """

    leaders: Mapping[str, ThrottledReplicas]
    followers: Mapping[str, ThrottledReplicas]
    leader_rates: Mapping[int, int]
    follower_rates: Mapping[int, int]

    @property
    def topics(self) -> frozenset[str]:
        """Topics with a list."""
        return frozenset({*self.leaders, *self.followers})

    def rates(self, topic: str, partition: int, leader: int, follower: int) -> dict[str, int]:
        """The rates that hold back an out-of-sync replica; empty if none does.

        The leader throttles by its own entry in the leader list, whoever fetches; the follower by its own in the
        follower list (TopicConfigHandler.parseThrottledPartitions keeps the entries of the broker itself).
        """
        found = {}
        if leader in self.leader_rates and (partition, leader) in self.leaders.get(topic, _NONE):
            found["leader_rate"] = self.leader_rates[leader]
        if follower in self.follower_rates and (partition, follower) in self.followers.get(topic, _NONE):
            found["follower_rate"] = self.follower_rates[follower]
        return found


def read_throttles(configs: Table) -> Throttles:
    """The throttles among the settings of a snapshot."""
    lists: dict[str, dict[str, ThrottledReplicas]] = {LEADER_LIST: {}, FOLLOWER_LIST: {}}
    for name, found in lists.items():
        for topic, value in _settings(configs, "topic", name):
            replicas = parse_throttle_list(value)
            if replicas:
                found[topic] = replicas
    rates: dict[str, dict[int, int]] = {LEADER_RATE: {}, FOLLOWER_RATE: {}}
    for name, by_broker in rates.items():
        for broker, value in _settings(configs, "broker", name):
            rate = parse_throttle_rate(value)
            if rate is not None and broker.isdecimal():
                by_broker[int(broker)] = rate
    return Throttles(lists[LEADER_LIST], lists[FOLLOWER_LIST], rates[LEADER_RATE], rates[FOLLOWER_RATE])


def _settings(configs: Table, entity_type: str, name: str) -> Iterator[tuple[str, str]]:
    """Entity and value of every setting of that name that has one; a table may hold a million others."""
    kinds, names, values = (configs.strings(column) for column in ("entity_type", "name", "value"))
    wanted = _coded(kinds, entity_type) & _coded(names, name) & (values.codes >= 0)
    entities = configs.strings("entity")
    for row in np.flatnonzero(wanted).tolist():
        entity, value = entities[row], values[row]
        if entity is not None and value:
            yield entity, value


def _coded(column: StringColumn, word: str) -> Mask:
    code = column.dictionary.index(word) if word in column.dictionary else -2
    found: Mask = column.codes == code
    return found


NO_LEADER, LEADER_NOT_KNOWN = -1, -2


@dataclass(frozen=True, slots=True, eq=False)
class Missing:
    """The n missing replicas of a snapshot, ordered by partition.

    Args:
        rows: The partition's row of each.
        brokers: Its broker.
        leaders: The partition's leader, NO_LEADER or LEADER_NOT_KNOWN.
        adding: Whether a reassignment is adding it.
        offline: Whether the cluster reports it offline.
    """

    rows: Integers
    brokers: Integers
    leaders: Integers
    adding: Mask
    offline: Mask

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, kept: Mask) -> Missing:
        """The missing replicas that the mask selects."""
        return Missing(self.rows[kept], self.brokers[kept], self.leaders[kept], self.adding[kept], self.offline[kept])


class Facts:
    """Facts of one snapshot. A broker's index is its position in ``broker_ids``."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.snapshot: ClusterSnapshot = evaluator.snapshot
        self.leaders = leaders_of(self.snapshot)
        self.missing = _missing(evaluator, self.leaders)
        self.replicas = self.snapshot.lists("replicas")
        self.isr = self.snapshot.lists("isr")

    @cached_property
    def broker_ids(self) -> Integers:
        """Every broker id that is named anywhere, in order."""
        registered = self.snapshot.brokers.integers("broker").values
        led = self.leaders[self.leaders >= 0]
        return _distinct(np.concatenate([registered, self.replicas.values, self.isr.values, led]))

    def index(self, brokers: Integers) -> Integers:
        """Indices of broker ids."""
        return np.searchsorted(self.broker_ids, brokers)

    @cached_property
    def fenced(self) -> Mask:
        """By broker index: fenced by the KRaft controller."""
        return fenced_brokers(self.snapshot.brokers, self.broker_ids)

    @cached_property
    def alive(self) -> Mask:
        """By broker index: known to be alive."""
        return _in_state(self.snapshot.brokers, self.broker_ids, "alive", wanted=True)

    @cached_property
    def gone(self) -> Mask:
        """By broker index: known not to be alive, or not registered where the source knows who is."""
        return gone_brokers(self.snapshot.brokers, self.broker_ids)

    @cached_property
    def leads(self) -> Integers:
        """By broker index: how many partitions it leads."""
        return np.bincount(self.index(self.leaders[self.leaders >= 0]), minlength=len(self.broker_ids))

    @cached_property
    def in_isr(self) -> Integers:
        """By broker index: in how many ISRs it is."""
        return np.bincount(self.index(self.isr.values), minlength=len(self.broker_ids))

    @cached_property
    def responsive(self) -> Mask:
        """By broker index: alive, or, where the source does not report it, seen to take part in replication."""
        return ~self.fenced & ~self.gone & (self.alive | (self.leads > 0) | (self.in_isr > 0))

    @cached_property
    def offline_directories(self) -> dict[int, list[str]]:
        """Paths of offline log directories by broker."""
        return offline_directories(self.snapshot.log_dirs)

    @cached_property
    def last_fetch(self) -> dict[int, str]:
        """Time of each broker's last fetch of the cluster's metadata, which the leader of a KRaft quorum keeps."""
        quorum = self.snapshot.quorum
        pairs = zip(quorum["node"].to_list(), quorum["last_fetch_ms"].to_list(), strict=True)
        return {
            node: datetime.fromtimestamp(milliseconds // 1000, UTC).isoformat()
            for node, milliseconds in pairs
            if isinstance(node, int) and isinstance(milliseconds, int)
        }

    @cached_property
    def throttles(self) -> Throttles:
        """Lists and rates of replication throttles."""
        return read_throttles(self.snapshot.configs)


def fenced_brokers(brokers: Table, ids: Integers) -> Mask:
    """Those of some brokers that the KRaft controller has fenced, by a snapshot's table of brokers."""
    return _in_state(brokers, ids, "fenced", wanted=True)


def gone_brokers(brokers: Table, ids: Integers) -> Mask:
    """Those of some brokers that are known not to be alive, or are not registered where the source knows who is."""
    registered = brokers.integers("broker").values
    dead = _in_state(brokers, ids, "alive", wanted=False)
    return dead | ~np.isin(ids, registered) if len(registered) else dead


def offline_directories(log_dirs: Table) -> dict[int, list[str]]:
    """Paths of offline log directories by broker."""
    found: dict[int, list[str]] = {}
    for row in log_dirs.rows():
        if row["error"] is not None:
            found.setdefault(int(str(row["broker"])), []).append(str(row["path"]))
    return found


def _distinct(values: Integers) -> Integers:
    """The values in order, each once: marked where they are small, as ids of brokers mostly are; sorting takes long."""
    if not len(values) or values.min() < 0 or values.max() > 4 * len(values):
        return np.unique(values)
    marks = np.zeros(int(values.max()) + 1, np.bool_)
    marks[values] = True
    return np.flatnonzero(marks)


def _in_state(brokers: Table, ids: Integers, name: str, *, wanted: bool) -> Mask:
    pairs = zip(brokers["broker"].to_list(), brokers[name].to_list(), strict=True)
    found = [broker for broker, state in pairs if state is wanted]
    return np.isin(ids, np.array(found, dtype=np.int64))


def leaders_of(snapshot: ClusterSnapshot) -> Integers:
    """Each partition's leader, NO_LEADER or LEADER_NOT_KNOWN."""
    leaders = snapshot.integers("leader")
    return leaders.values if leaders.valid is None else np.where(leaders.valid, leaders.values, LEADER_NOT_KNOWN)


def elements_of(items: IntListColumn, others: IntListColumn) -> Mask:
    """Marks each element of ``items`` that the other list of its row contains; null lists contain none."""
    pairs = items.row_numbers() << 32 | items.values
    valid = others.valid
    kept = slice(None) if valid is None else np.repeat(valid, others.lengths())
    return np.isin(pairs, (others.row_numbers() << 32 | others.values)[kept])


def _missing(evaluator: Evaluator, leaders: Integers) -> Missing:
    # The predicates tell which replicas are missing; only partitions that miss one are examined further.
    lists = evaluator.list(MISSING)
    rows = np.flatnonzero(lists.lengths())
    missing = lists.take(rows)
    snapshot = evaluator.snapshot
    adding = elements_of(missing, evaluator.list(ADDING).take(rows))
    offline = elements_of(missing, snapshot.lists("offline_replicas").take(rows))
    places = rows[missing.row_numbers()]
    return Missing(places, missing.values, leaders[places], adding, offline)


def is_true(column: object) -> Mask:
    """Rows of a boolean column that are true."""
    assert isinstance(column, BoolColumn)
    return column.is_true()
