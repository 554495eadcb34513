"""The sandbox against real Kafka: faults as Kafka's own tools see them, and nothing left behind."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from real_clusters.views import end_offsets, leaders, paused, wait_for_leaders
from waiting import until

from kreplica.config.properties import translate
from kreplica.errors import SandboxError
from kreplica.sandbox import (
    Listener,
    LoadResult,
    LoadSettings,
    Mode,
    ProcessState,
    Sandbox,
    SandboxSettings,
    run_load,
    start,
)

pytestmark = pytest.mark.kafka

SandboxFactory = Callable[..., Sandbox]


def load(
    sandbox: Sandbox,
    listener: Listener = Listener.PLAINTEXT,
    user: str = "admin",
    ended: threading.Event | None = None,
    **settings: object,
) -> LoadResult:
    properties = sandbox.client_properties(listener, user)
    client = dict(translate(properties).librdkafka) | {"bootstrap.servers": properties["bootstrap.servers"]}
    return run_load(client, LoadSettings(**settings), ended or threading.Event())  # type: ignore[arg-type]


@contextmanager
def once_written(sandbox: Sandbox, count: int, act: Callable[[], object]) -> Iterator[None]:
    """Has ``act`` run beside the block as soon as the topic "load" holds so many records."""

    def wait() -> None:
        until(lambda: end_offsets(sandbox, "load") >= count, f"{count} records", pause=0.02)
        act()

    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(wait)
        yield
        acting.result()


def under_replicated(sandbox: Sandbox) -> list[tuple[str, str]]:
    """What Kafka's own tool lists: (topic-partition, ISR); Kafka's own topics, which other tests cause, left out."""
    text = sandbox.tool("topics", "--describe", "--under-replicated-partitions", "--exclude-internal")
    found = re.findall(r"Topic: (\S+)\s+Partition: (\d+)\s+Leader: \S+\s+Replicas: \S+\s+Isr: (\S*)", text)
    return sorted((f"{topic}-{partition}", ",".join(sorted(isr.split(",")))) for topic, partition, isr in found)


def end_offset(sandbox: Sandbox, topic: str) -> int:
    """Sum of the log end offsets as Kafka's own tool tells them.

    Kafka's client waits a minute for a broker that it was told of and that is gone: it is started anew before that.
    """
    found: list[str] = []

    def told() -> bool:
        with suppress(SandboxError):
            found[:] = sandbox.tool("get-offsets", "--topic", topic, "--time", "-1", timeout=20).split()
        return bool(found)

    until(told, f"Kafka's tool to tell the end of {topic}", 120)
    return sum(int(line.rsplit(":", 1)[1]) for line in found)


def processes_of(folder: Path) -> list[int]:
    """Ids of all processes whose command line names the folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("fixture", ["kraft_cluster", "zookeeper_cluster"])
def test_a_killed_and_a_paused_broker_leave_the_isr_and_come_back(fixture: str, request: pytest.FixtureRequest) -> None:
    sandbox: Sandbox = request.getfixturevalue(fixture)
    sandbox.create_topic("orders", assignment=[[1, 2], [2, 3], [3, 1]])
    assert under_replicated(sandbox) == []

    sandbox.kill(3)
    assert sandbox.process_state(3) is ProcessState.ENDED
    sandbox.wait_for_brokers(gone=[3])
    sandbox.wait_for_isr("orders", 1, {2})
    sandbox.wait_for_isr("orders", 2, {1})
    assert under_replicated(sandbox) == [("orders-1", "2"), ("orders-2", "1")]
    assert [server.registered for server in sandbox.status() if server.id] == [True, True, False]
    sandbox.start_broker(3)
    sandbox.wait_for_healthy()
    assert under_replicated(sandbox) == []

    with paused(sandbox, 2):
        assert sandbox.process_state(2) is ProcessState.PAUSED
        sandbox.wait_for_isr("orders", 0, {1})
        sandbox.wait_for_isr("orders", 1, {3})
        assert under_replicated(sandbox) == [("orders-0", "1"), ("orders-1", "3")]
    sandbox.wait_for_healthy()
    assert under_replicated(sandbox) == []


def test_a_clean_stop_hands_leadership_over_first(kraft_cluster: Sandbox) -> None:
    kraft_cluster.create_topic("orders", assignment=[[3, 1, 2]])
    kraft_cluster.shut_down(3)
    until(lambda: set(leaders(kraft_cluster, "orders")) <= {1, 2}, "another broker to lead")
    assert list((kraft_cluster.folder / "broker-3").glob("data-*/.kafka_cleanshutdown"))


def test_another_process_steers_the_same_sandbox(kraft_cluster: Sandbox) -> None:
    other = Sandbox.open(kraft_cluster.name, kraft_cluster.folder.parent)
    other.kill(2)
    assert kraft_cluster.process_state(2) is ProcessState.ENDED
    with pytest.raises(SandboxError, match=r"server 2 .* is not running"):
        kraft_cluster.pause(2)
    other.start_broker(2)
    assert kraft_cluster.pid(2) == other.pid(2)
    with pytest.raises(SandboxError, match=r"server 2 .* is running"):
        kraft_cluster.start_broker(2)


def test_racks_assignment_and_settings_reach_the_brokers(kraft_cluster: Sandbox) -> None:
    kraft_cluster.create_topic("orders", assignment=[[3, 1]], configs={"retention.ms": "12345"})
    described = kraft_cluster.tool("topics", "--describe", "--topic", "orders")
    assert re.search(r"Replicas: 3,1\b", described)
    assert "retention.ms=12345" in described
    configs = kraft_cluster.tool("configs", "--describe", "--entity-type", "brokers", "--entity-name", "2", "--all")
    assert re.search(r"broker\.rack=rack-b\b", configs)
    assert re.search(r"replica\.lag\.time\.max\.ms=6000\b", configs)
    with pytest.raises(SandboxError, match="already exists"):
        kraft_cluster.create_topic("orders")


def test_a_tool_that_fails_says_why(kraft_cluster: Sandbox) -> None:
    with pytest.raises(SandboxError, match="nowhere"):
        kraft_cluster.tool("topics", "--describe", "--topic", "nowhere")
    with pytest.raises(SandboxError, match="no tool 'topic'"):
        kraft_cluster.tool("topic")


def test_a_load_on_a_healthy_cluster_is_complete(kraft_cluster: Sandbox) -> None:
    kraft_cluster.create_topic("load", partitions=4, replication_factor=3)
    result = load(kraft_cluster, topic="load", rate=400, seconds=2, idempotent=True)
    assert result.total("acknowledged") == result.total("read_back") == 800
    assert result.total("lost") == result.total("refused") == result.total("duplicated") == 0
    assert end_offset(kraft_cluster, "load") == 800
    assert result.consumed == 800
    assert 1.9 <= result.seconds < 30, "at the rate asked for, as far as the machine holds it"
    assert result.acknowledge_ms["p50"] is not None


def test_acks_all_loses_nothing_when_the_leader_is_killed(kraft_cluster: Sandbox) -> None:
    kraft_cluster.create_topic("load", assignment=[[3, 1, 2], [1, 2, 3]])
    with once_written(kraft_cluster, 300, lambda: kraft_cluster.kill(3)):
        result = load(kraft_cluster, topic="load", rate=200, seconds=4)
    assert kraft_cluster.process_state(3) is ProcessState.ENDED
    assert result.total("lost") == result.total("unread") == 0
    assert result.total("acknowledged") + result.total("refused") == result.total("sent") == 800  # type: ignore[operator]
    duplicates = end_offset(kraft_cluster, "load") - (result.total("read_back") or 0)
    assert duplicates >= (result.total("duplicated") or 0)


def test_acks_1_with_an_unclean_election_loses_what_the_tool_counts(zookeeper_cluster: Sandbox) -> None:
    configs = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
    zookeeper_cluster.create_topic("load", assignment=[[1, 2]], configs=configs)
    # Ended and started again: one that stands still for longer than its session may stay out for minutes afterwards.
    zookeeper_cluster.kill(2)
    zookeeper_cluster.wait_for_isr("load", 0, {1})

    swapped = threading.Event()

    def swap() -> None:
        zookeeper_cluster.kill(1)
        zookeeper_cluster.start_broker(2, wait=False)
        wait_for_leaders(zookeeper_cluster, "load", [2])
        swapped.set()

    with once_written(zookeeper_cluster, 500, swap):
        result = load(
            zookeeper_cluster, ended=swapped, topic="load", rate=200, seconds=120, acks="1", delivery_timeout=90
        )
    acknowledged, lost, read_back = (result.total(name) or 0 for name in ("acknowledged", "lost", "read_back"))
    # Sent to a leader whose log was thrown away. Kafka's own tool tells how many can be left at most.
    left = end_offset(zookeeper_cluster, "load")
    assert lost > 400, "as good as all that were there when it was killed"
    assert lost >= acknowledged - left
    assert acknowledged - lost <= read_back <= left
    assert result.total("unread") == 0
    assert result.vanished, "a consumer had read records that are gone now"


def test_records_behind_a_partition_without_leader_are_unread_not_lost(kraft_cluster: Sandbox) -> None:
    kraft_cluster.create_topic("load", assignment=[[3]], configs={"min.insync.replicas": "1"})
    ended = threading.Event()

    def kill() -> None:
        kraft_cluster.kill(3)
        ended.wait(1)  # what is sent now is refused
        ended.set()

    with once_written(kraft_cluster, 20, kill):
        result = load(
            kraft_cluster, ended=ended, topic="load", rate=100, seconds=60, delivery_timeout=4, read_timeout=8
        )
    assert result.total("lost") == 0
    assert (result.total("unread") or 0) > 0
    assert (result.total("refused") or 0) > 0
    assert sum(result.errors.values()) == result.total("refused")


def test_an_event_ends_a_load_early_and_it_is_accounted_for(kraft_cluster: Sandbox) -> None:
    kraft_cluster.create_topic("load", partitions=1)
    ended = threading.Event()
    with once_written(kraft_cluster, 50, ended.set):
        result = load(kraft_cluster, ended=ended, topic="load", rate=100, seconds=120, idempotent=True)
    assert result.interrupted
    assert result.seconds < 60
    assert result.total("acknowledged") == result.total("read_back") == end_offset(kraft_cluster, "load") >= 50


def test_secured_listeners_and_the_authorizer(sandbox_factory: SandboxFactory) -> None:
    secured = (Listener.TLS_SCRAM_SHA_512, Listener.SCRAM_SHA_256, Listener.MTLS, Listener.TLS, Listener.SASL_PLAIN)
    sandbox = sandbox_factory(name="secured", brokers=1, listeners=secured, authorizer=True, log_dirs=2)
    sandbox.create_topic("open", partitions=1)
    sandbox.create_topic("hidden", partitions=1)
    acl = ("--add", "--allow-principal", "User:alice", "--operation", "All", "--topic", "open")
    sandbox.tool("acls", *acl)

    first = Listener.TLS_SCRAM_SHA_512  # the broker hears of users and entries in its own time
    until(lambda: visible_topics(sandbox, first, "alice") == {"open"}, "the entry to reach the broker")
    for listener in secured:
        seen_by_admin = visible_topics(sandbox, listener, "admin")
        if listener is not Listener.TLS:  # without client certificates everybody is ANONYMOUS there
            assert visible_topics(sandbox, listener, "alice") == {"open"}
        assert seen_by_admin == {"open", "hidden"}

    # Kafka's own client reads the same properties file.
    config = str(sandbox.client_properties_file(Listener.MTLS, "alice"))
    servers = sandbox.bootstrap_servers_of(Listener.MTLS)
    listed = sandbox.tool(
        "org.apache.kafka.tools.TopicCommand", "--bootstrap-server", servers, "--command-config", config, "--list"
    )
    assert listed.split() == ["open"]
    assert load(sandbox, Listener.TLS_SCRAM_SHA_512, "alice", topic="open", rate=50, seconds=1).total("lost") == 0
    with pytest.raises(SandboxError, match="may not see it"):
        load(sandbox, Listener.SCRAM_SHA_256, "alice", topic="hidden")
    described = sandbox.tool("log-dirs", "--describe")
    assert "data-1" in described
    assert "data-2" in described


def visible_topics(sandbox: Sandbox, listener: Listener, user: str) -> set[str]:
    properties = sandbox.client_properties(listener, user)
    client = dict(translate(properties).librdkafka) | {"bootstrap.servers": properties["bootstrap.servers"]}
    return {topic for topic in AdminClient(client).list_topics(timeout=20).topics if not topic.startswith("__")}


def test_a_wrong_password_is_refused(sandbox_factory: SandboxFactory) -> None:
    sandbox = sandbox_factory(
        name="scram-zk", mode=Mode.ZOOKEEPER, brokers=1, listeners=(Listener.SCRAM_SHA_256,), ibp="2.8", authorizer=True
    )
    assert visible_topics(sandbox, Listener.SCRAM_SHA_256, "admin") == set()
    properties = sandbox.client_properties(Listener.SCRAM_SHA_256, "admin")
    properties["sasl.jaas.config"] = properties["sasl.jaas.config"].replace("admin-secret", "wrong")
    client = dict(translate(properties).librdkafka) | {"bootstrap.servers": properties["bootstrap.servers"]}
    with pytest.raises(KafkaException):
        AdminClient(client | {"error_cb": lambda _error: None}).list_topics(timeout=3)
    described = sandbox.tool("configs", "--describe", "--entity-type", "brokers", "--entity-name", "1", "--all")
    assert re.search(r"inter\.broker\.protocol\.version=2\.8\b", described)


def test_separate_controllers_survive_the_loss_of_one(sandbox_factory: SandboxFactory) -> None:
    sandbox = sandbox_factory(name="controllers", brokers=1, controllers=3, heap_mib=128)
    assert (sandbox.broker_ids, sandbox.controller_ids) == ((1,), (2, 3, 4))
    sandbox.kill(2)
    until(lambda: creates(sandbox, "made-without-it"), "a topic to be made without it")
    status = sandbox.tool("metadata-quorum", "describe", "--status")
    voters = status.split("CurrentVoters")[1].split("CurrentObservers")[0]
    assert re.findall(r'"id": (\d+)', voters) == ["2", "3", "4"]
    sandbox.start_broker(2)
    assert sandbox.process_state(2) is ProcessState.RUNNING


def creates(sandbox: Sandbox, topic: str) -> bool:
    """Whether the cluster makes the topic: not while the controllers that are left elect a leader."""
    try:
        sandbox.create_topic(topic)
    except SandboxError as error:
        return "already exists" in error.why  # the answer to the try before was lost
    return True


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"broker_settings": {"num.io.threads": "abc"}}, "num.io.threads"),
        ({"mode": Mode.ZOOKEEPER, "broker_settings": {"compression.type": "nope"}}, "compression.type"),
        ({"mode": Mode.ZOOKEEPER, "ibp": "7.7"}, "7.7"),
    ],
)
def test_a_failed_start_tells_the_brokers_reason_and_leaves_nothing(
    tmp_path: Path, settings: dict[str, object], reason: str
) -> None:
    with pytest.raises(SandboxError) as caught:
        start(SandboxSettings(name="fails", brokers=1, **settings), tmp_path)  # type: ignore[arg-type]
    assert reason in caught.value.why
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    assert processes_of(tmp_path) == []


def test_an_interrupted_start_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(step: str) -> None:
        if step.startswith("waiting"):
            # The kernel lets the spawning process go on a moment before /proc shows the new command line.
            until(lambda: len(processes_of(tmp_path)) == 1, "the server that could be left behind", pause=0.01)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start(SandboxSettings(name="interrupted", brokers=1), tmp_path, interrupt)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    assert processes_of(tmp_path) == []


def test_a_stopped_sandbox_leaves_nothing_even_with_a_paused_and_a_killed_broker(tmp_path: Path) -> None:
    sandbox = start(SandboxSettings(name="gone", brokers=2, heap_mib=128), tmp_path)
    with pytest.raises(SandboxError, match="there is a sandbox named 'gone'"):
        start(SandboxSettings(name="gone"), tmp_path)
    sandbox.kill(2)
    properties = sandbox.folder / "broker-2" / "server.properties"
    properties.write_text(properties.read_text() + "num.network.threads=none\n")
    with pytest.raises(SandboxError, match=r"num\.network\.threads"):  # a broker that cannot come back tells why
        sandbox.start_broker(2)
    assert sandbox.process_state(2) is ProcessState.ENDED
    sandbox.pause(1)
    begun = time.monotonic()
    sandbox.stop()
    sandbox.stop()
    assert time.monotonic() - begun < 30, "ended at once, not after the minute that a clean end has"
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    assert processes_of(tmp_path) == []
    with pytest.raises(SandboxError, match="no sandbox named 'gone'"):
        Sandbox.open("gone", tmp_path)
