"""Repairs after a row: servers that ended or stand still, log directories that failed."""

from __future__ import annotations

from conformance.real_side import OBSTACLE
from conformance.supervisor import wait_for_all
from kreplica.sandbox import ProcessState, Sandbox

BACK_SECONDS = 240.0


def put_back(sandbox: Sandbox, topic: str) -> None:
    """Brings every server back to life, with its log directories, removes the topic, and waits until all is in sync."""
    for broker in sandbox.broker_ids:
        _mend_disks(sandbox, broker)
    for server in (*sandbox.controller_ids, *sandbox.broker_ids):
        state = sandbox.process_state(server)
        if state is ProcessState.PAUSED:
            sandbox.resume(server)
        elif state is ProcessState.ENDED:
            sandbox.start_broker(server, wait=False)
    wait_for_all(sandbox, sandbox.broker_ids, BACK_SECONDS)
    metadata = sandbox.metadata()
    if metadata is not None and topic in metadata.topics:
        sandbox.delete_topic(topic)
    sandbox.wait_for_healthy(timeout=BACK_SECONDS)


def _mend_disks(sandbox: Sandbox, broker: int) -> None:
    """Takes the obstacles out of a broker's log directories; it notices when it starts anew."""
    found = (sandbox.folder / f"broker-{broker}").glob(f"data-*/{OBSTACLE}")
    obstacles = [one for one in found if one.is_dir()]  # a file is the broker's own, and gone in a moment
    for obstacle in obstacles:
        for file in obstacle.iterdir():
            file.unlink()
        obstacle.rmdir()
    if obstacles and sandbox.process_state(broker) is not ProcessState.ENDED:
        sandbox.kill(broker)
