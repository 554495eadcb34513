"""Preferred leader elections where only ZooKeeper is reachable: /admin/preferred_replica_election.

The controller watches that znode, elects, writes the new partition states, and then removes the znode
(KafkaController.processReplicaLeaderElection, ZkTriggered). It sends no answer: the result is read from the
states. Kafka's own tools wrote it until 2.x (PreferredReplicaLeaderElectionCommand), and controllers up to 3.9 heed it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kazoo.exceptions import NoAuthError, NodeExistsError
from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

from kreplica.config.zookeeper_security import SET_ACL
from kreplica.control.boundary import require_writable
from kreplica.control.elect import ELECTED, NOT_NEEDED, ElectionResult, TopicPartition
from kreplica.errors import ChangeRefusedError, UnreachableError
from kreplica.sources.zookeeper import tree as paths
from kreplica.sources.zookeeper.client import SessionLostError, ZookeeperSession
from kreplica.sources.zookeeper.tree import Tree, state_path
from kreplica.sources.zookeeper.znodes import Assignment, ControllerRegistration, PartitionState, ZnodeError, decode
from kreplica.system.deadline import Deadline

if TYPE_CHECKING:
    from kazoo.security import ACL

    from kreplica.config.handle import ClusterHandle

BATCH = 1000
"""Partitions in one znode: below 300 KB, where ZooKeeper takes 1 MB."""

UNKNOWN, NOT_AVAILABLE, NOT_TAKEN = "UNKNOWN_TOPIC_OR_PARTITION", "PREFERRED_LEADER_NOT_AVAILABLE", "not-taken"
_POLL_SECONDS = 0.1


def elect_preferred_by_zookeeper(
    handle: ClusterHandle, partitions: Sequence[TopicPartition], *, allowed: bool
) -> tuple[ElectionResult, ...]:
    """Has the controller make each partition's preferred replica its leader, through ZooKeeper.

    Args:
        handle: With ``zookeeper``; ``handle.timeout`` bounds each batch, the controller's work included.
        partitions: Topic and partition; only these are touched.
        allowed: The user allows that ZooKeeper is written to (``--allow-zookeeper-write``).

    Returns:
        One result for each partition, in the order given, judged by its state afterwards: elected, not-needed, or
        Kafka's name for why not. Where the controller does not take a batch in time its partitions, and those after
        it, are ``not-taken``.

    Raises:
        ChangeRefusedError: It is not allowed, the handle is read-only, elections of somebody else wait already, there
            is no controller that would heed it, or the credentials may not write.
        UnreachableError: ZooKeeper did not answer.
        AuthenticationError: The credentials are refused.
        ConfigurationError: The properties cannot be used.
    """
    require_writable(handle)
    require_allowed(handle, allowed=allowed)
    wanted = list(dict.fromkeys(partitions))
    results: dict[TopicPartition, ElectionResult] = {}
    for start in range(0, len(wanted), BATCH):
        batch = wanted[start : start + BATCH]
        results |= _elect(handle, batch)
        if any(results[key].outcome == NOT_TAKEN for key in batch):
            later = "not written: the elections before it still wait for the controller"
            results |= {key: ElectionResult(*key, NOT_TAKEN, later) for key in wanted[start + BATCH :]}
            break
    return tuple(results[key] for key in wanted)


def require_allowed(handle: ClusterHandle, *, allowed: bool) -> None:
    """Refuses to write to ZooKeeper unless the user explicitly allowed it.

    Raises:
        ChangeRefusedError: It is not, or no ZooKeeper is named.
    """
    if handle.zookeeper is None:
        raise ChangeRefusedError(f"{handle.name} is not changed", "its ZooKeeper is not named", "give --zookeeper")
    if not allowed:
        raise ChangeRefusedError(
            f"{handle.name} is not changed",
            f"the elections would be written to {paths.PREFERRED_ELECTION} in its ZooKeeper",
            "--allow-zookeeper-write allows that; --bootstrap-server has the brokers do it",
        )


def _elect(handle: ClusterHandle, batch: Sequence[TopicPartition]) -> dict[TopicPartition, ElectionResult]:
    """Elects one batch on a session of its own."""
    deadline = Deadline(handle.timeout)
    try:
        with ZookeeperSession(handle, deadline) as session:
            _require_controller(session)
            before = _Leaders(session, batch)
            known = [key for key in batch if key in before.leaders]
            taken = not known or _write(session, handle.properties, known, deadline)
            after = _Leaders(session, known) if taken else before
    except SessionLostError as error:
        raise UnreachableError(
            "the connection to ZooKeeper broke", str(error), "read the state again: elections may have been made"
        ) from None
    return {key: _result(key, before, after, taken=taken) for key in batch}


def _require_controller(session: ZookeeperSession) -> None:
    tree = Tree()
    session.read(tree, [paths.CONTROLLER])
    _require_readable(tree)
    try:
        controller = decode(tree.data(paths.CONTROLLER), ControllerRegistration)
    except ZnodeError:
        raise ChangeRefusedError(
            "the elections are not written", "no broker is the controller, so nobody would take them"
        ) from None
    if controller.kraft_epoch >= 0:
        raise ChangeRefusedError(
            "the elections are not written", "a KRaft controller, which does not heed ZooKeeper, leads the cluster"
        )


def _require_readable(tree: Tree) -> None:
    if tree.denied:
        raise ChangeRefusedError(
            "the elections are not written",
            f"the credentials need read permission (r) on {min(tree.denied)}, to see who leads",
        )


class _Leaders:
    """Leaders and preferred leaders of partitions that exist."""

    def __init__(self, session: ZookeeperSession, wanted: Sequence[TopicPartition]) -> None:
        self.leaders: dict[TopicPartition, int] = {}
        self.preferred: dict[TopicPartition, int] = {}
        tree = Tree()
        session.list(tree, paths.DELETE_TOPICS)
        doomed = tree.children.get(paths.DELETE_TOPICS, ())
        topics = [topic for topic in dict.fromkeys(topic for topic, _ in wanted) if topic not in doomed]
        session.read(tree, [f"{paths.TOPICS}/{topic}" for topic in topics])
        session.read(tree, [state_path(*key) for key in wanted if key[0] in topics])
        _require_readable(tree)
        for key in wanted:
            self._add(tree, key)

    def _add(self, tree: Tree, key: TopicPartition) -> None:
        topic, partition = key
        try:
            replicas = decode(tree.data(f"{paths.TOPICS}/{topic}"), Assignment).partitions[str(partition)]
            self.leaders[key] = decode(tree.data(state_path(topic, partition)), PartitionState).leader
            self.preferred[key] = replicas[0]
        except (ZnodeError, KeyError, IndexError):
            self.leaders.pop(key, None)

    def preferred_leads(self, key: TopicPartition) -> bool:
        """True if the preferred replica leads."""
        return key in self.leaders and self.leaders[key] == self.preferred[key]


def _write(
    session: ZookeeperSession, properties: Mapping[str, str], batch: Sequence[TopicPartition], deadline: Deadline
) -> bool:
    """Writes the znode and waits for the controller to remove it; returns whether it did in time."""
    content = {"version": 1, "partitions": [{"topic": topic, "partition": partition} for topic, partition in batch]}
    data = json.dumps(content, separators=(",", ":")).encode()
    try:
        session.wait(session.client.create_async(paths.PREFERRED_ELECTION, data, acl=_acl(properties)))
    except NodeExistsError:
        raise ChangeRefusedError(
            "the elections are not written",
            f"{paths.PREFERRED_ELECTION} is there already: elections of somebody else wait for the controller",
            "try again when they are done",
        ) from None
    except NoAuthError:
        raise ChangeRefusedError(
            "the elections are not written", f"the credentials need create permission (c) on {paths.ADMIN}"
        ) from None
    while deadline.remaining() > 2 * _POLL_SECONDS:
        if not session.exists(paths.PREFERRED_ELECTION):
            return True
        time.sleep(_POLL_SECONDS)
    return False


def _acl(properties: Mapping[str, str]) -> list[ACL]:
    """As Kafka's ZkData.defaultAcls has it: open, or with zookeeper.set.acl the creator's own and readable."""
    secure = properties.get(SET_ACL, "false").strip().lower() == "true"
    return [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE] if secure else list(OPEN_ACL_UNSAFE)


def _result(key: TopicPartition, before: _Leaders, after: _Leaders, *, taken: bool) -> ElectionResult:
    if key not in before.leaders:
        return ElectionResult(*key, UNKNOWN, "there is no such partition, or its topic is being deleted")
    if before.preferred_leads(key):
        return ElectionResult(*key, NOT_NEEDED)
    if not taken:
        message = f"the controller has not taken {paths.PREFERRED_ELECTION} in time; it may still do so"
        return ElectionResult(*key, NOT_TAKEN, message)
    if after.preferred_leads(key):
        return ElectionResult(*key, ELECTED)
    leader = after.leaders.get(key, -1)
    still = f"broker {leader} leads" if leader >= 0 else "nobody leads"
    message = f"{still}: broker {before.preferred[key]} is not alive or not in sync"
    return ElectionResult(*key, NOT_AVAILABLE, message)
