"""Plays one row on both sides and says how they compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conformance.engine_side import EngineSide
from conformance.internal_topics import GROUP_LEADER, group_led_by, internal_topics
from conformance.reading import Difference
from conformance.real_side import RealSide, Seen
from conformance.script import Explained, Row, Step
from conformance.sweep import Cast, connection_to
from conformance.timers import Timer, bounds
from kreplica.sandbox import Links, Mode, Sandbox
from kreplica.sandbox.servers.properties import server_properties

SLACK = 10.0
"""Seconds that a busy machine may take longer than Kafka's documentation says."""
BEFORE = 2.0
"""Seconds that may pass between what starts a timer and the end of the action that it is counted from."""


@dataclass(frozen=True, slots=True)
class Result:
    """One row as it was played in one mode.

    Args:
        row: The row.
        unexplained: Differences that nothing explains, each with the number of its step; the row ends at the first
            step that has any.
        explained: Those that the row explains.
        late: Timers outside their documented bounds, in words.
        seconds: Seconds until the effect of each step was seen; the first is of the beginning.
    """

    row: Row
    unexplained: tuple[tuple[int, Difference], ...]
    explained: tuple[Explained, ...]
    late: tuple[str, ...]
    seconds: tuple[float, ...]

    @property
    def holds(self) -> bool:
        """True if both sides are equal, or each difference is explained."""
        return not self.unexplained and not self.late

    @property
    def verdict(self) -> str:
        """A word for the table."""
        return "different" if not self.holds else "explained" if self.explained else "equal"

    def __str__(self) -> str:
        lines = [f"step {number}: {one}" for number, one in self.unexplained]
        return "\n".join([f"{self.row.name}: {self.verdict}", *lines, *self.late])


def cast_of(sandbox: Sandbox, row: Row) -> Cast:
    """The brokers that play those of the row: in ZooKeeper mode the controller is broker 1."""
    brokers = sandbox.broker_ids
    if sandbox.mode is Mode.ZOOKEEPER:
        controller = _controller(sandbox)
        brokers = (controller, *(broker for broker in brokers if broker != controller))
    return Cast(dict(enumerate(brokers[: row.brokers], start=1)))


def _controller(sandbox: Sandbox) -> int:
    from kafka.protocol.metadata import MetadataRequest, MetadataResponse

    with connection_to(sandbox, sandbox.running_brokers()[0]) as connection:
        answer = connection.send(MetadataRequest(topics=[], allow_auto_topic_creation=False), MetadataResponse)
    controller: int = answer.controller_id
    return controller


def play(sandbox: Sandbox, row: Row, topic: str, links: Links | None = None) -> Result:
    """Plays the row on a cluster whose brokers are all alive, and in the engine.

    Args:
        sandbox: The cluster.
        row: The row.
        topic: A topic that is not there yet.
        links: The proxies between its brokers, for rows that cut what these send each other.
    """
    cast = cast_of(sandbox, row)
    nodes, broker = sandbox.state.nodes, cast.real[1]
    server_settings = server_properties(sandbox.settings, nodes, broker, sandbox.folder / nodes[broker].folder_name)
    internal = internal_topics(sandbox, cast, row)
    group = group_led_by(GROUP_LEADER, topic, internal[-1]) if row.commits else ""
    version = f"{sandbox.kafka_version}-kraft" if sandbox.mode is Mode.KRAFT else sandbox.kafka_version
    predicted = EngineSide(row, topic, version, server_settings, internal, group).readings()
    brokers = RealSide(sandbox, row, topic, cast, links, group)
    seen = [brokers.read(next(predicted))]
    for number, step in enumerate(row.steps, start=1):
        if _unexplained(row, number - 1, seen[-1]):
            break  # everything later would differ, too
        brokers.do(step.do)
        seen.append(brokers.read(next(predicted), step.holds))
    return judge(row, seen, server_settings)


def _explains(row: Row, number: int, difference: Difference) -> tuple[Explained, ...]:
    return tuple(one for one in row.explained if one.step == number and difference.what.startswith(one.what))


def _unexplained(row: Row, number: int, seen: Seen) -> list[tuple[int, Difference]]:
    return [(number, one) for one in seen.differences if not _explains(row, number, one)]


def judge(row: Row, seen: Sequence[Seen], server_settings: Mapping[str, str] | None = None) -> Result:
    """Says how what was seen compares, beginning with the reading before the first step.

    Args:
        row: The row.
        seen: After each step.
        server_settings: The brokers' settings, for the bounds of timers; without them these are not judged.
    """
    unexplained = [one for number, each in enumerate(seen) for one in _unexplained(row, number, each)]
    found = ((number, one) for number, each in enumerate(seen) for one in each.differences)
    explained = {why for number, one in found for why in _explains(row, number, one)}
    played = zip(row.steps, seen[1:], strict=False) if server_settings is not None else ()
    told = [late(step, one.seconds, server_settings or {}) for step, one in played]
    seconds = tuple(round(one.seconds, 1) for one in seen)
    return Result(row, tuple(unexplained), tuple(sorted(explained, key=str)), tuple(filter(None, told)), seconds)


def late(step: Step, seconds: float, server_settings: Mapping[str, str]) -> str:
    """Tells that a step's effect came outside its timer's bounds; empty where it did not.

    Args:
        step: The step.
        seconds: Seconds until the effect was seen.
        server_settings: The brokers' settings.
    """
    least, most = bounds(step.timer, server_settings)
    if step.timer is Timer.NONE or least - BEFORE <= seconds <= most + SLACK:
        return ""
    return f"{step.do}: seen after {seconds:.1f} s, documented are {least:g} to {most:g} s"
