"""Real Apache Kafka for the tests: two clusters shared by the whole run, and a factory for others.

A test that cannot have its cluster fails; none is skipped. Tests that share a cluster put it back in order:
``kraft_cluster`` and ``zookeeper_cluster`` hand it over healthy and take care of that again afterwards.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from real_clusters.kafka_tools import tools_in_one_jvm
from real_clusters.views import put_in_order

from kreplica.sandbox import Mode, Sandbox, SandboxSettings, start

RACKS = ("rack-a", "rack-b", "rack-c")
# A dead broker is noticed and a paused one leaves the ISR in six seconds: shorter would be unsafe on two busy cores.
FAST_FAULTS = {"replica.lag.time.max.ms": "6000", "broker.session.timeout.ms": "6000"}

# From 4.3 on (KIP-1263) targets are computed at most once a second: here at every heartbeat, as 4.0 to 4.2 do.
ASSIGNED_AT_ONCE = {"group.consumer.assignment.interval.ms": "0", "group.consumer.assignor.offload.enable": "false"}

SandboxFactory = Callable[..., Sandbox]
_running: dict[str, Sandbox] = {}
"""Shared clusters that run, by their group."""


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Stops a shared cluster after the last test of its group: three idle brokers take a twentieth of a processor.

    Where processes run side by side, the tests of a group follow each other in one of them, and no other has them.
    """
    group = _group(item)
    if group in _running and nextitem is not None and _group(nextitem) != group and hasattr(item.config, "workerinput"):
        _running.pop(group).stop()


def _group(item: pytest.Item) -> str:
    marker = item.get_closest_marker("xdist_group")
    return str(marker.args[0]) if marker else ""


@pytest.fixture(scope="session", autouse=True)
def _stopped_in_any_case(no_sandbox_outlives_this_process: None) -> None:
    """Every test here may start sandboxes."""


@pytest.fixture(scope="session", autouse=True)
def _tools_in_one_jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every test here may ask Kafka's own tools; those that a command starts have a JVM each."""
    with tools_in_one_jvm(tmp_path_factory.mktemp("tools")):
        yield


@pytest.fixture(scope="session")
def sandbox_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of this run's sandboxes: the user's own are neither seen nor touched."""
    # A run that is ended by SIGTERM stops its clusters as one ended by Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return tmp_path_factory.mktemp("sandboxes")


@pytest.fixture(scope="session")
def kraft_session(sandbox_folder: Path) -> Iterator[Sandbox]:
    broker_settings = FAST_FAULTS | ASSIGNED_AT_ONCE
    settings = SandboxSettings(name="kraft", mode=Mode.KRAFT, racks=RACKS, broker_settings=broker_settings)
    with start(settings, sandbox_folder) as sandbox:
        _running["kraft"] = sandbox
        yield sandbox


@pytest.fixture(scope="session")
def zookeeper_session(sandbox_folder: Path) -> Iterator[Sandbox]:
    lag = {"replica.lag.time.max.ms": FAST_FAULTS["replica.lag.time.max.ms"]}
    settings = SandboxSettings(name="zookeeper", mode=Mode.ZOOKEEPER, racks=RACKS, broker_settings=lag)
    with start(settings, sandbox_folder) as sandbox:
        _running["zookeeper"] = sandbox
        yield sandbox


@pytest.fixture
def kraft_cluster(kraft_session: Sandbox) -> Iterator[Sandbox]:
    """Three combined nodes of Kafka 4.3.1 in three racks, every broker alive, without topics of other tests."""
    yield kraft_session
    put_in_order(kraft_session)


@pytest.fixture
def zookeeper_cluster(zookeeper_session: Sandbox) -> Iterator[Sandbox]:
    """Three brokers of Kafka 3.9.2 and one ZooKeeper, every broker alive, without topics of other tests."""
    yield zookeeper_session
    put_in_order(zookeeper_session)


@pytest.fixture
def sandbox_factory(sandbox_folder: Path) -> Iterator[SandboxFactory]:
    """Start a sandbox with the given ``SandboxSettings``; it is stopped at the end of the test."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(start(SandboxSettings(**settings), sandbox_folder))


@pytest.fixture(scope="module")
def module_sandbox_factory(sandbox_folder: Path) -> Iterator[SandboxFactory]:
    """Start a sandbox with the given ``SandboxSettings``; it is stopped at the end of the test file."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(start(SandboxSettings(**settings), sandbox_folder))


@pytest.fixture
def cluster(running: Sandbox) -> Iterator[Sandbox]:
    """The cluster that a test file has for itself, its fixture ``running``: healthy before and after each test."""
    running.wait_for_healthy()
    yield running
    running.wait_for_healthy()
