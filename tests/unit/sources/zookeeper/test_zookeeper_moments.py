"""A tree that changes while it is read, znodes that are gone or may not be read: without a server.

tests/kafka/sources/test_zookeeper_reading.py reads from a real ZooKeeper; here each change falls between two certain
requests.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from kazoo.exceptions import NoAuthError, NoNodeError

from kreplica.errors import UnreachableError
from kreplica.model.snapshot import ClusterSnapshot, Gap, utc_now
from kreplica.sources.zookeeper import reading as zookeeper
from kreplica.sources.zookeeper.client import SessionLostError, ZookeeperSession
from kreplica.sources.zookeeper.reading import ATTEMPTS, read_tree
from kreplica.sources.zookeeper.snapshot import snapshot_of
from kreplica.sources.zookeeper.tree import Tree, Znode, state_path
from kreplica.system.deadline import Deadline

STATE = state_path("t", 0)


@dataclass
class Stored:
    """A znode: data, and the numbers of ZooKeeper's Stat."""

    data: bytes
    mzxid: int
    pzxid: int
    version: int = 0


class Ensemble:
    """Znodes with the numbers of transactions that changed them; takes the requests that kazoo's client takes.

    Attributes:
        answered: Paths in the order in which they were read.
        before: Called with each path before it is read.
    """

    def __init__(self) -> None:
        self.last_zxid = 0
        self.znodes: dict[str, Stored] = {}
        self.denied: set[str] = set()
        self.answered: list[str] = []
        self.before: Callable[[str], None] = lambda _: None

    def create(self, path: str, value: object = None) -> None:
        """A new znode; the parent's pzxid is that of its creation."""
        self.last_zxid += 1
        data = b"" if value is None else json.dumps(value).encode()
        self.znodes[path] = Stored(data, self.last_zxid, self.last_zxid)
        self._parent_changed(path)

    def set(self, path: str, value: object) -> None:
        self.last_zxid += 1
        stored = self.znodes[path]
        stored.data, stored.mzxid, stored.version = json.dumps(value).encode(), self.last_zxid, stored.version + 1

    def delete(self, path: str) -> None:
        self.last_zxid += 1
        del self.znodes[path]
        self._parent_changed(path)

    def _parent_changed(self, path: str) -> None:
        parent = self.znodes.get(path.rpartition("/")[0] or "/")
        if parent is not None:
            parent.pzxid = self.last_zxid

    def sync_async(self, _: str) -> Any:
        return self._result(lambda: None)

    def exists_async(self, path: str) -> Any:
        return self._result(lambda: self._stat(path) if path in self.znodes else None)

    def get_async(self, path: str) -> Any:
        return self._result(lambda: (self._read(path).data, self._stat(path)))

    def get_children_async(self, path: str, include_data: bool) -> Any:
        assert include_data

        def children() -> Any:
            self._read(path)
            prefix = path.rstrip("/") + "/"
            names = [one.removeprefix(prefix) for one in self.znodes if one.startswith(prefix)]
            return sorted({name for name in names if "/" not in name}), self._stat(path)

        return self._result(children)

    def _read(self, path: str) -> Stored:
        self.before(path)
        self.answered.append(path)
        if path in self.denied:
            raise NoAuthError
        if path not in self.znodes:
            raise NoNodeError
        return self.znodes[path]

    def _stat(self, path: str) -> Any:
        return self.znodes[path]

    @staticmethod
    def _result(call: Callable[[], Any]) -> Any:
        return SimpleNamespace(get=lambda **_: call())


def state(leader: int, epoch: int = 0) -> dict[str, object]:
    return {"controller_epoch": 4, "leader": leader, "version": 1, "leader_epoch": epoch, "isr": [leader]}


@pytest.fixture
def ensemble(monkeypatch: pytest.MonkeyPatch) -> Ensemble:
    """A cluster of one broker and one partition."""
    monkeypatch.setattr(zookeeper, "_PAUSE_SECONDS", 0.0)
    found = Ensemble()
    for path in ("/", "/brokers/ids", "/brokers/topics", "/admin", "/admin/delete_topics", "/isr_change_notification"):
        found.create(path)
    found.create("/brokers/ids/1", {"version": 5, "host": "one", "port": 9092})
    found.create("/brokers/topics/t", {"version": 3, "partitions": {"0": [1, 2]}})
    found.create(STATE, state(1))
    found.create("/controller", {"version": 1, "brokerid": 1, "timestamp": "0"})
    return found


def session(ensemble: Ensemble) -> ZookeeperSession:
    """Over a connection that is there."""
    made = ZookeeperSession.__new__(ZookeeperSession)
    made.chroot, made.client, made._deadline, made._multi_read = "/", ensemble, Deadline(30), False
    return made


def read(ensemble: Ensemble) -> tuple[ClusterSnapshot, tuple[Gap, ...]]:
    taken_at, tree, gaps = zookeeper._settled(session(ensemble), False, Deadline(30))
    return snapshot_of(tree, name="test", taken_at=taken_at, source="zookeeper"), gaps


def once(path: str, act: Callable[[], None]) -> Callable[[str], None]:
    """Acts before the path is read for the first time."""
    left = [act]

    def before(asked: str) -> None:
        if asked == path and left:
            left.pop()()

    return before


def test_a_quiet_tree_is_read_once(ensemble: Ensemble) -> None:
    snapshot, gaps = read(ensemble)
    assert gaps == ()
    assert ensemble.answered.count(STATE) == 1
    assert snapshot.partition("t", 0)["leader"] == 1


def test_a_state_that_changes_under_the_reading_is_read_again(ensemble: Ensemble) -> None:
    ensemble.before = once(STATE, lambda: ensemble.set(STATE, state(2, 7)))
    snapshot, gaps = read(ensemble)
    assert gaps == ()
    assert ensemble.answered.count(STATE) == 2
    assert snapshot.partition("t", 0)["leader_epoch"] == 7


def test_a_tree_that_never_rests_is_torn(ensemble: Ensemble) -> None:
    epochs = iter(range(1, 100))

    def before(path: str) -> None:
        if path == STATE:
            ensemble.set(STATE, state(1, next(epochs)))

    ensemble.before = before
    snapshot, gaps = read(ensemble)
    assert [(gap.kind, gap.count) for gap in gaps] == [("torn-read", 1)]
    assert ensemble.answered.count(STATE) == ATTEMPTS
    assert snapshot.partition("t", 0)["leader_epoch"] == ATTEMPTS, "the last reading is the one that is given"


@pytest.mark.parametrize(
    ("path", "change", "changed"),
    [
        # mzxid: data; pzxid: children (ZooKeeper Programmer's Guide, "ZooKeeper Stat Structure")
        (STATE, lambda ensemble: ensemble.set(STATE, state(1, 1)), 1),
        ("/brokers/topics/t", lambda ensemble: ensemble.set("/brokers/topics/t", {"partitions": {}}), 1),
        ("/brokers/ids", lambda ensemble: ensemble.create("/brokers/ids/2", {"host": "two", "port": 1}), 2),
        ("/brokers/ids", lambda ensemble: ensemble.delete("/brokers/ids/1"), 1),
        ("/admin/delete_topics", lambda ensemble: ensemble.create("/admin/delete_topics/t"), 1),
        ("/controller", lambda ensemble: ensemble.set("/controller", {"brokerid": 2}), 1),
        # notifications come and go all the time, and only their number is told
        ("/isr_change_notification", lambda ensemble: ensemble.create("/isr_change_notification/x"), 0),
    ],
)
def test_what_changes_after_the_reading_began_is_counted(
    ensemble: Ensemble, path: str, change: Callable[[Ensemble], None], changed: int
) -> None:
    assert read_tree(session(ensemble), False)[1] == 0
    ensemble.before = once(path, lambda: change(ensemble))
    assert read_tree(session(ensemble), False)[1] == changed


def test_the_transaction_with_which_the_reading_began_is_not_later(ensemble: Ensemble) -> None:
    ensemble.set(STATE, state(1, 1))
    assert ensemble.znodes[STATE].mzxid == ensemble.last_zxid
    assert read_tree(session(ensemble), False)[1] == 0


def test_a_child_that_is_gone_before_it_is_read_is_a_change(ensemble: Ensemble) -> None:
    """Its parent was listed before: what it says of its children is of the moment of the list."""
    ensemble.create("/brokers/ids/2", {"version": 5, "host": "two", "port": 9092})
    ensemble.before = once("/brokers/ids/2", lambda: ensemble.delete("/brokers/ids/2"))
    tree, changed = read_tree(session(ensemble), False)
    assert tree.missing >= {"/brokers/ids/2"}
    assert changed == 1
    snapshot, gaps = read(ensemble)
    assert gaps == ()
    # broker 2 holds a replica, and is no longer among those that live
    assert {row["broker"]: row["alive"] for row in snapshot.brokers.rows()} == {1: True, 2: False}


def test_a_state_that_is_not_there_is_looked_at_twice(ensemble: Ensemble) -> None:
    """Not written yet, or its topic is being deleted: once does not tell."""
    ensemble.delete(STATE)
    snapshot, gaps = read(ensemble)
    assert ensemble.answered.count(STATE) == 2
    assert gaps == ()
    assert snapshot.partition("t", 0)["leader"] == -1
    assert "1 partition without a state znode, being created: t-0" in snapshot.notes


def test_a_state_that_comes_before_the_second_look_is_taken(ensemble: Ensemble) -> None:
    ensemble.delete(STATE)
    looks = []

    def before(path: str) -> None:
        looks.append(path)
        if looks.count(STATE) == 2:
            ensemble.before = lambda _: None
            ensemble.create(STATE, state(2))

    ensemble.before = before
    snapshot, gaps = read(ensemble)
    assert (snapshot.partition("t", 0)["leader"], gaps) == (2, ())


def test_a_state_that_may_not_be_read_is_a_gap_and_no_partition(ensemble: Ensemble) -> None:
    ensemble.denied = {STATE}
    tree, changed = read_tree(session(ensemble), False)
    assert (tree.denied, tree.missing & {STATE}, changed) == ({STATE}, set(), 0)
    snapshot, _ = read(ensemble)
    assert len(snapshot.partitions) == 0, "nothing is known of it: a row would say that it has no leader"
    (gap,) = snapshot.gaps
    assert (gap.kind, gap.count) == ("failed-request", 1)
    assert gap.message.endswith(f"the credentials need read permission (r) on {STATE}")
    assert not any("without a state" in note for note in snapshot.notes)


def test_a_list_that_may_not_be_read_says_of_nobody_that_he_is_dead(ensemble: Ensemble) -> None:
    ensemble.denied = {"/brokers/ids"}
    snapshot, _ = read(ensemble)
    assert {row["broker"]: row["alive"] for row in snapshot.brokers.rows()} == {1: None, 2: None}
    assert [gap.count for gap in snapshot.gaps] == [1]


def test_children_are_told_in_order_whatever_order_they_came_in() -> None:
    tree = Tree(children={"/p": ["b", "a", "c"]}, nodes={"/p/a": Znode(None, 0), "/p/b": Znode(b"x", 0)})
    assert list(tree.below("/p")) == [("a", "/p/a"), ("b", "/p/b"), ("c", "/p/c")]
    assert list(tree.below("/nowhere")) == []
    assert (tree.data("/p/a"), tree.data("/p/b"), tree.data("/p/c")) == (None, b"x", None)


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        # FeatureZNode of Kafka 2.7: status 0 is Disabled, 1 Enabled (KIP-584)
        ({"version": 2, "status": 1, "features": {"group.version": 1}}, {"group.version": 1}),
        (
            {"version": 1, "status": 1, "features": {"f": {"min_version_level": 1, "max_version_level": 3}}},
            {"f": 3},
        ),
        ({"version": 2, "status": 0, "features": {"group.version": 1}}, {}),
        ({"version": 2, "status": 2, "features": {"group.version": 1}}, {}),
        ({"version": 2, "features": {"group.version": 1}}, {}),
    ],
)
def test_features_hold_where_they_are_enabled(
    ensemble: Ensemble, features: dict[str, object], expected: dict[str, int]
) -> None:
    ensemble.create("/feature", features)
    tree, _ = read_tree(session(ensemble), False)
    snapshot = snapshot_of(tree, name="test", taken_at=utc_now(), source="zookeeper")
    assert dict(snapshot.features) == expected


class Losing(ZookeeperSession):
    """A session whose connection breaks at every request."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._reasons = {}
        self.servers = (("h", 2181),)
        self.connected_to = "h:2181"
        self.client = SimpleNamespace(connected=True)
        self.began = time.monotonic()

    def exists(self, _path: str) -> bool:
        assert time.monotonic() - self.began < 5, "it goes on after its deadline"
        raise SessionLostError


def test_a_connection_that_breaks_again_and_again_costs_the_deadline_and_no_more() -> None:
    session = Losing(Deadline(0.2))
    with pytest.raises(UnreachableError, match=r"ZooKeeper at h:2181 did not answer within 0\.2 s"):
        session.reconnected()
    assert time.monotonic() - session.began >= 0.2
