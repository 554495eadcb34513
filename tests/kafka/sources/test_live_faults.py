"""The live source while a broker stands still or a controller is asked: what is missing is said, and no more."""

from __future__ import annotations

import contextlib
import re
import time

import pytest
from real_clusters.views import paused, produce, quorum_leader

from kreplica.config.handle import ClusterHandle
from kreplica.errors import UnreachableError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sandbox import Mode, Sandbox
from kreplica.sources import Facet
from kreplica.sources.kafka.snapshot import read_live

pytestmark = pytest.mark.kafka


def test_a_paused_broker_makes_the_answer_partial_within_the_timeout(kraft_cluster: Sandbox) -> None:
    silent = 1 if quorum_leader(kraft_cluster) == 3 else 3
    kraft_cluster.create_topic("orders", assignment=[[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    produce(kraft_cluster, "orders", 30)
    servers = kraft_cluster.bootstrap_servers.split(",")
    # The silent broker is the first that is asked.
    servers.insert(0, servers.pop(silent - 1))
    handle = ClusterHandle("test", ",".join(servers), timeout=4)
    with paused(kraft_cluster, silent):
        begun = time.monotonic()
        snapshot = read_live(handle, Facet.HEALTH | Facet.OFFSETS)
        took = time.monotonic() - begun

    assert 3.5 < took < 7.5, "not the timeout once more for what else the silent broker is asked"
    (gap,) = snapshot.gaps
    message = f"broker {silent} did not answer within 4 s"
    assert (gap.kind, gap.message, gap.count) == ("silent-brokers", message, 1)
    assert {row["broker"] for row in snapshot.log_dirs.rows()} == {1, 2, 3} - {silent}
    rows = [row for row in snapshot.partitions.rows() if row["topic"] == "orders"]
    assert len(rows) == 3
    assert all(row["adding"] == [] for row in rows)
    for row in rows:
        assert row["high_watermark"] == (None if row["leader"] == silent else 10)


def test_a_paused_controller_hides_reassignments_and_nothing_else(kraft_cluster: Sandbox) -> None:
    kraft_cluster.create_topic("orders", assignment=[[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    controller, snapshot = read_beside_a_paused_controller(kraft_cluster)

    assert [row["replicas"] for row in snapshot.partitions.rows() if row["topic"] == "orders"] == [
        [1, 2, 3],
        [2, 3, 1],
        [3, 1, 2],
    ]
    assert [row["adding"] for row in snapshot.partitions.rows() if row["topic"] == "orders"] == [None] * 3
    assert [gap.message for gap in snapshot.gaps] == [
        f"broker {controller} did not answer within 1.5 s",
        "reassignments could not be read from the controller: no answer within 1.5 s",
    ]


def read_beside_a_paused_controller(sandbox: Sandbox) -> tuple[int, ClusterSnapshot]:
    """Two seconds without a leader, and the quorum has elected another: on a busy machine it may come before the
    answer of the brokers, so that there are a few attempts."""
    for _ in range(5):
        controller = quorum_leader(sandbox)
        with paused(sandbox, controller), contextlib.suppress(UnreachableError):
            snapshot = read_live(ClusterHandle("test", sandbox.bootstrap_servers, timeout=1.5), Facet.HEALTH)
            if len(snapshot.gaps) == 2:
                return controller, snapshot
        sandbox.wait_for_healthy()
    raise AssertionError("in five attempts no answer was partial for the controller alone")


def test_the_end_offset_runs_ahead_of_the_high_watermark(kraft_cluster: Sandbox) -> None:
    kraft_cluster.create_topic("ahead", assignment=[[1, 3]])
    produce(kraft_cluster, "ahead", 5)
    with paused(kraft_cluster, 3):
        produce(kraft_cluster, "ahead", 4, acks="1")
        handle = ClusterHandle("test", kraft_cluster.live_bootstrap_servers(), timeout=3)
        row = read_live(handle, Facet.OFFSETS).partition("ahead", 0)
    assert (row["log_start_offset"], row["high_watermark"], row["end_offset"]) == (0, 5, 9)


def test_a_controller_address_is_told_from_a_broker(sandbox_factory) -> None:  # type: ignore[no-untyped-def]
    sandbox = sandbox_factory(name="controller", mode=Mode.KRAFT, brokers=1)
    properties = next(sandbox.folder.rglob("server.properties"), None) or next(sandbox.folder.rglob("*.properties"))
    listeners = re.search(r"^listeners=(.*)$", properties.read_text(), re.M)
    assert listeners is not None
    controller = re.search(r"CONTROLLER://([\d.]+:\d+)", listeners.group(1))
    assert controller is not None
    with pytest.raises(UnreachableError, match="KRaft controller, not a broker"):
        read_live(ClusterHandle("test", controller.group(1), timeout=5))
