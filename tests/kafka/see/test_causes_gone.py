"""Causes of under-replication that come of what has ended: a broker, a rack, a log directory of a real cluster.

Four brokers in two racks and a controller of its own, so that no broker takes a controller with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from real_clusters.causes import TRIPLES, causes, describe, document, missing, two_racks
from waiting import until

from kreplica.sandbox import Sandbox

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

SETTINGS = {
    # A dead broker is noticed in this time; a living one is heard of within it, on a busy machine too.
    "broker.session.timeout.ms": "12000",
    # An offline directory is noticed when the next checkpoint is written.
    "replica.high.watermark.checkpoint.interval.ms": "1000",
}


@pytest.fixture(scope="module")
def running(module_sandbox_factory: Callable[..., Sandbox]) -> Sandbox:
    sandbox = two_racks(module_sandbox_factory, "gone", SETTINGS, log_dirs=2)
    sandbox.create_topic("held", assignment=TRIPLES, configs={"min.insync.replicas": "1"})
    return sandbox


def test_a_broker_killed_and_then_its_whole_rack_gone(cluster: Sandbox) -> None:
    killed_at = datetime.now(UTC)
    cluster.kill(3)
    cluster.wait_for_brokers(gone=[3])
    found = document(cluster, "--under-replicated")
    assert set(causes(found).values()) == {"broker-fenced"}
    assert causes(found).keys() == missing(found)
    (culprit,) = found["summary"]["causes"]
    assert (culprit["kind"], culprit["broker"], culprit["partitions"]) == ("broker-fenced", 3, len(found["partitions"]))
    heard = datetime.fromisoformat(culprit["since"])
    # When it was last heard of, not when it was missed: that is 12 s later.
    assert killed_at - timedelta(seconds=10) < heard < killed_at + timedelta(seconds=2)

    cluster.shut_down(1)
    cluster.wait_for_brokers(gone=[1, 3])
    screen, _ = describe(cluster)
    assert re.search(r"^cause +rack a gone: brokers 1, 3 +explains \d+", screen, re.MULTILINE), screen
    assert not re.search(r"not known", screen)
    for broker in (1, 3):
        cluster.start_broker(broker, wait=False)


def test_a_log_directory_that_fails(cluster: Sandbox) -> None:
    directory = cluster.folder / "broker-1" / "data-2"
    held = {path.name for path in directory.iterdir() if path.is_dir()}
    assert held
    away = directory.with_name("data-2-away")
    directory.rename(away)
    directory.write_text("")  # whoever writes there now fails, root as well
    offline = {(topic, int(number), 1) for topic, _, number in (name.rpartition("-") for name in held)}
    found: dict[str, Any] = {}

    def named() -> bool:
        found.update(document(cluster, "--under-replicated"))
        return causes(found).keys() >= offline

    until(named, "the directory to be reported offline")
    assert {causes(found)[place] for place in offline} == {"log-directory-offline"}
    (culprit,) = found["summary"]["causes"]
    assert (culprit["kind"], culprit["broker"]) == ("log-directory-offline", 1)
    assert culprit["evidence"] == {"log_dirs": [str(directory)]}
    cluster.shut_down(1)
    directory.unlink()
    away.rename(directory)
    cluster.start_broker(1, wait=False)
