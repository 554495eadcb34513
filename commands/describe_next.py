"""What to type next about a cause: commands that work as they stand."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kreplica.health.causes import CauseKind
from kreplica.health.causes.culprits import RACK_GONE, SLOW_BROKER, Culprit
from kreplica.model.throttles import FOLLOWER_LIST, LEADER_LIST

if TYPE_CHECKING:
    from commands.describe_answer import ClusterView

_SLOW = {CauseKind.SLOW_LEADER.value, CauseKind.SLOW_FOLLOWER.value, SLOW_BROKER}
_GONE = {CauseKind.BROKER_GONE.value, CauseKind.BROKER_FENCED.value, RACK_GONE}


def commands_for_causes(view: ClusterView, way_in: str) -> Iterator[str]:
    """One command about the worst cause, where there is one to type.

    A slow broker may have to be restarted: whether it can be stopped. A broker that is gone comes back: waiting until
    it is in sync again. A throttle that a reassignment left behind: taking it away, by Kafka's own tool.
    """
    if not view.verdict.culprits:
        return
    worst = view.verdict.culprits[0]
    if worst.key.kind in _SLOW:
        yield f"kreplica safe-to-stop {way_in} {worst.key.broker}"
    elif worst.key.kind in _GONE and worst.certain and view.live:
        brokers = "".join(f" --broker {broker}" for broker in worst.brokers)
        # There --timeout is how long to wait, and --read-timeout what it is here.
        yield f"kreplica wait {way_in.replace('--timeout', '--read-timeout')} --for in-sync{brokers}"
    elif worst.key.kind == CauseKind.THROTTLE.value and worst.evidence["left_behind"] and view.live:
        yield _take_away(view, worst, way_in)


def _take_away(view: ClusterView, throttle: Culprit, way_in: str) -> str:
    topics = throttle.evidence["topics"]
    assert isinstance(topics, list), "a throttle names its topics"
    throttles = view.why.facts.throttles
    lists = ((LEADER_LIST, throttles.leaders), (FOLLOWER_LIST, throttles.followers))
    names = ",".join(name for name, by_topic in lists if topics[0] in by_topic)
    given = shlex.split(way_in)
    pairs = dict(zip(given[::2], given[1::2], strict=True))
    words = ["--bootstrap-server", pairs.get("--bootstrap-server", "HOST:PORT")]
    words += ["--command-config", pairs["--command-config"]] if "--command-config" in pairs else []
    words += ["--alter", "--entity-type", "topics", "--entity-name", str(topics[0]), "--delete-config", names]
    return f"kafka-configs.sh {shlex.join(words)}"
