"""The part of a supervisor, as of systemd: a broker of ZooKeeper mode that its own earlier session ended starts again.

A broker that starts while the znode of its earlier life is there ends with NodeExistsException
(KafkaZkClient.CheckedEphemeral.getAfterNodeExists, called by KafkaServer.startup). The engine asks each second until
that session is over (``zookeeper/link.py``), as somebody would who starts the process again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import monotonic

from kreplica.errors import SandboxError
from kreplica.sandbox import ProcessState, Sandbox
from kreplica.sandbox.servers.logs import TAIL_BYTES

LAST_WORDS = "Exiting Kafka due to fatal exception during startup"
REASON = "NodeExistsException"
FIRST_WORDS = "starting (kafka.server.KafkaServer)"
LOOK_SECONDS = 5.0


def start_again(sandbox: Sandbox, brokers: Iterable[int]) -> None:
    """Starts those of the brokers that have ended since their earlier session had not."""
    for broker in brokers:
        if sandbox.process_state(broker) is ProcessState.ENDED and _met_its_session(sandbox, broker):
            sandbox.start_broker(broker, wait=False)


def wait_for_all(sandbox: Sandbox, brokers: Sequence[int], timeout: float) -> None:
    """Waits until the brokers are alive, and starts them again where that is what they need.

    Raises:
        SandboxError: They are not alive in time, or one has ended for another reason, once the time is over.
    """
    end = monotonic() + timeout
    while True:
        start_again(sandbox, brokers)
        try:
            return sandbox.wait_for_brokers(brokers, timeout=LOOK_SECONDS)
        except SandboxError:
            if monotonic() > end:
                raise


def _met_its_session(sandbox: Sandbox, broker: int) -> bool:
    """True if its last words are that its znode exists: the log goes on from life to life."""
    log = sandbox.log_file(broker)
    if not log.exists():
        return False
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL_BYTES))
        text = file.read().decode("utf-8", errors="replace")
    since = text.rpartition(LAST_WORDS)[2]
    return REASON in since and FIRST_WORDS not in since
