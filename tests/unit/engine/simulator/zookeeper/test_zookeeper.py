"""ZooKeeper as Kafka relies on it: versions, transactions, sessions, watches that fire once."""

from __future__ import annotations

from typing import Any

import pytest

from kreplica.engine.setup import SECOND, TopicSetup, cluster
from kreplica.engine.simulator.node import Node
from kreplica.engine.simulator.simulation import Simulation
from kreplica.engine.simulator.zookeeper.client import ZooKeeperClient
from kreplica.engine.simulator.zookeeper.service import (
    BAD_VERSION,
    NO_NODE,
    NODE_EXISTS,
    OK,
    ROLLED_BACK,
    Operation,
    Result,
    Transaction,
    ZooKeeper,
)
from kreplica.engine.trace import Kind, Trace
from kreplica.engine.versions.supported import version_named

TIMEOUT = 6 * SECOND


class Ensemble:
    """ZooKeeper and some clients of it, without Kafka."""

    def __init__(self, clients: int) -> None:
        self.simulation = Simulation(cluster(1, TopicSetup("t", ((1,),))), version_named("2.5"), 1, Trace())
        self.zookeeper = ZooKeeper(self.simulation.cluster)
        self.zookeeper.start()
        self.seen: list[tuple[str, str, str]] = []
        self.expired: list[str] = []
        self.clients = [self._client(f"client-{number}") for number in range(clients)]
        self.run(1)

    def _client(self, name: str) -> ZooKeeperClient:
        node = Node(self.simulation.cluster, name)
        node.start()
        client = ZooKeeperClient(
            node,
            self.zookeeper,
            TIMEOUT,
            lambda what, path: self.seen.append((name, what, path)),
            lambda: self.expired.append(name),
        )
        client.connect(lambda: None)
        return client

    def run(self, seconds: float) -> None:
        self.simulation.scheduler.run(self.simulation.scheduler.now + int(seconds * SECOND))

    def ask(self, *transactions: Transaction, client: int = 0) -> tuple[tuple[Result, ...], ...]:
        answers: list[Any] = []
        self.clients[client].request(transactions, answers.append)
        self.run(1)
        return tuple(answers[0])


def test_versions() -> None:
    ensemble = Ensemble(1)
    create, again, stale, missing = ensemble.ask(
        (Operation("create", "/a", (1,)),),
        (Operation("create", "/a", (2,)),),
        (Operation("set", "/a", (3,), version=7),),
        (Operation("set", "/b", (3,)),),
    )
    assert [result[0].code for result in (create, again, stale, missing)] == [OK, NODE_EXISTS, BAD_VERSION, NO_NODE]
    ((first,), (second,), (read,)) = ensemble.ask(
        (Operation("set", "/a", (4,), version=0),),
        (Operation("set", "/a", (5,)),),
        (Operation("get", "/a"),),
    )
    assert (first.version, second.version) == (1, 2)
    assert (read.data, read.version) == ((5,), 2)


def test_a_transaction_is_done_whole_or_not_at_all() -> None:
    ensemble = Ensemble(1)
    ensemble.ask((Operation("create", "/epoch", (1,)),))
    refused, done = ensemble.ask(
        (Operation("check", "/epoch", version=3), Operation("create", "/a", (1,))),
        (Operation("check", "/epoch", version=0), Operation("create", "/b", (1,))),
    )
    assert [result.code for result in refused] == [BAD_VERSION, ROLLED_BACK]
    assert [result.code for result in done] == [OK, OK]
    assert ensemble.zookeeper.data("/a") is None
    assert ensemble.zookeeper.data("/b") == (1,)


def test_watches_fire_once() -> None:
    ensemble = Ensemble(2)
    ensemble.ask((Operation("get", "/a", watch=True),), (Operation("children", "/p", watch=True),))
    assert ensemble.zookeeper.watches == 2
    ensemble.ask((Operation("create", "/a", (1,)),), (Operation("create", "/p/1", ()),), client=1)
    ensemble.ask((Operation("set", "/a", (2,)),), (Operation("create", "/p/2", ()),), client=1)
    assert ensemble.seen == [("client-0", "created", "/a"), ("client-0", "children", "/p")]
    assert (ensemble.zookeeper.watches, ensemble.zookeeper.fired) == (0, 2)


def watched(ensemble: Ensemble) -> list[str]:
    """Kinds of the events of watches on the way to client-0: arrived or lost."""
    events = [event for event in ensemble.simulation.trace.events if "watch event" in event.values]
    return [event.kind for event in events if "client-0" in (event.node, event.values[0])]


def test_a_client_that_missed_watches_is_told_of_them_once_it_is_reached() -> None:
    """ClientCnxn.primeConnection, DataTree.setWatches: with what holds by then, each once."""
    ensemble = Ensemble(2)
    ensemble.ask((Operation("create", "/a", (1,)),), (Operation("create", "/b", (1,)),))
    watches = ((Operation("get", path, watch=True),) for path in ("/a", "/b", "/c"))
    ensemble.ask(*watches, (Operation("children", "/p", watch=True),))
    link = ensemble.simulation.network.link(ensemble.zookeeper, ensemble.clients[0].node)
    link.cuts += 1
    creates = (Operation("create", "/c", (1,)),), (Operation("create", "/p/1", ()),)
    ensemble.ask((Operation("set", "/a", (2,)),), (Operation("delete", "/b"),), *creates, client=1)
    ensemble.ask((Operation("delete", "/a"),), client=1)
    assert ensemble.seen == []
    link.cuts -= 1
    ensemble.run(TIMEOUT / SECOND / 3)
    seen = [("deleted", "/a"), ("deleted", "/b"), ("changed", "/c"), ("children", "/p")]
    assert ensemble.seen == [("client-0", *what) for what in seen]
    ensemble.run(60)
    assert len(ensemble.seen) == 4


@pytest.mark.parametrize("slow", [False, True])
def test_a_watch_that_comes_late_is_told_once(slow: bool) -> None:
    """It waits at a process that stands still, or is still on its way: nothing is lost."""
    ensemble = Ensemble(2)
    ensemble.ask((Operation("get", "/a", watch=True),))
    node = ensemble.clients[0].node
    if slow:
        ensemble.simulation.network.link(ensemble.zookeeper, node).delay = 5 * SECOND
    else:
        node.pause()
    ensemble.ask((Operation("create", "/a", (1,)),), client=1)
    ensemble.run(4)
    assert ensemble.seen == []
    node.resume()
    ensemble.run(20)
    assert ensemble.seen == [("client-0", "created", "/a")]
    assert slow or watched(ensemble) == [Kind.MESSAGE]


def test_a_missed_watch_ends_with_its_session_and_with_the_process() -> None:
    ensemble = Ensemble(2)
    ensemble.ask((Operation("get", "/a", watch=True),))
    node, network = ensemble.clients[0].node, ensemble.simulation.network
    links = network.link(ensemble.zookeeper, node), network.link(node, ensemble.zookeeper)
    for link in links:
        link.cuts += 1
    ensemble.ask((Operation("create", "/a", (1,)),), client=1)
    ensemble.run(60)
    assert 1 < len(watched(ensemble)) <= 4  # every 2 s until the session of 6 s ends

    ensemble = Ensemble(2)
    ensemble.ask((Operation("get", "/a", watch=True),))
    node = ensemble.clients[0].node
    node.kill()
    ensemble.ask((Operation("create", "/a", (1,)),), client=1)
    node.start()
    ensemble.run(60)
    assert watched(ensemble) == []


@pytest.mark.parametrize("standing_still", [False, True])
def test_a_silent_session_ends_with_its_znodes(standing_still: bool) -> None:
    ensemble = Ensemble(2)
    ensemble.ask((Operation("create", "/mine", (0,), ephemeral=True),))
    ensemble.ask((Operation("get", "/mine", watch=True),), client=1)
    node = ensemble.clients[0].node
    if standing_still:
        node.pause()
    else:
        node.kill()
    ensemble.run(3.5)
    assert ensemble.zookeeper.data("/mine") == (0,)
    ensemble.run(3)
    assert ensemble.zookeeper.data("/mine") is None
    assert ensemble.seen == [("client-1", "deleted", "/mine")]
    assert ensemble.expired == []
    node.resume()
    ensemble.run(3)
    assert ensemble.expired == (["client-0"] if standing_still else [])


def test_a_session_that_is_heard_of_lives_on() -> None:
    ensemble = Ensemble(1)
    ensemble.ask((Operation("create", "/mine", (0,), ephemeral=True),))
    ensemble.run(120)
    assert ensemble.zookeeper.data("/mine") == (0,)
    ensemble.zookeeper.expire("client-0")
    assert ensemble.zookeeper.data("/mine") is None
    ensemble.run(TIMEOUT / SECOND)
    assert ensemble.expired == ["client-0"]
