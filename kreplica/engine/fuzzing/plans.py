"""Random plans of faults, which ``--runs`` and the safety tests play.

Every fault heals: processes restart, links and pauses end, and the last part of a run is quiet, so that a record
missing at its end is lost and not late. A run takes a random subset of the kinds (swarm testing): this plays rare
combinations that a uniform choice never makes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from kreplica.engine.fault_plan import (
    AnyAction,
    At,
    BreakConnection,
    CancelReassignment,
    Crash,
    Cut,
    DirectoryFailure,
    DiskLoss,
    ElectPreferred,
    ExpireSession,
    LateMetadata,
    Lossy,
    Pause,
    Plan,
    PowerLoss,
    Reassign,
    Slow,
    SlowDisk,
    Start,
    Step,
    Stop,
    When,
    in_order,
)
from kreplica.engine.fuzzing.refused_requests import refused_requests
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.setup import FIRST_CONTROLLER, Setup
from kreplica.engine.trace import Kind
from kreplica.engine.versions.supported import ControllerKind, Version


class FaultKind(StrEnum):
    """Kinds of random faults; each heals except a failed log directory."""

    CRASH = "crash"
    RESTART = "restart"
    PAUSE = "pause"
    CUT = "cut"
    ISOLATE = "isolate"
    SLOW = "slow"
    LOSSY = "lossy"
    SLOW_DISK = "slow-disk"
    CONTROLLER = "controller"
    PREFERRED = "preferred"
    FAILOVERS = "failovers"
    LAGGARD = "laggard"
    BACK_AND_FORTH = "back-and-forth"
    LATE_CONTROLLER = "late-controller"
    LATE_METADATA = "late-metadata"
    BREAK_CONNECTION = "break-connection"
    REFUSE_REQUEST = "refuse-request"
    SESSION = "session"
    MOVE = "move"
    DIRECTORY = "directory"
    POWER_LOSS = "power-loss"
    DISK_LOSS = "disk-loss"


KEEPS_DISKS = tuple(kind for kind in FaultKind if kind not in (FaultKind.POWER_LOSS, FaultKind.DISK_LOSS))
"""Kinds that remove nothing from a disk: with these, and settings that promise it, nothing acknowledged is lost."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The faults that a random plan may have.

    Args:
        kinds: The kinds of faults; each run takes some of them.
        most: Largest number of faults.
        quiet: Percentage of the run, at its end, without faults.
        lasting: Whether one broker stays away after the last fault: down, or cut off from the other brokers.
    """

    kinds: tuple[FaultKind, ...] = KEEPS_DISKS
    most: int = 8
    quiet: int = 50
    lasting: bool = False


DEFAULT_PROFILE = Profile()


def random_plan(setup: Setup, version: Version, profile: Profile, chance: Random) -> Plan:
    """Returns a plan of one to ``profile.most`` faults.

    Args:
        setup: The cluster; faults are chosen among its brokers, links and clients.
        version: Kafka's version; the crash of a controller depends on its mode.
        profile: The faults that may happen.
        chance: The only source of randomness.
    """
    swarm = chance.sample(profile.kinds, chance.randint(1, min(4, len(profile.kinds))))
    last = setup.duration * (100 - profile.quiet) // 100
    steps: list[Step] = []
    for _ in range(chance.randint(1, profile.most)):
        kind = chance.choice(swarm)
        if kind in _COMPOSED:
            steps.extend(_COMPOSED[kind](setup, version, chance, last))
        else:
            steps.extend(_healing(_MAKERS[kind](setup, version, chance, last), _moment(chance, last), last))
    if profile.lasting:
        steps.extend(_stays_away(setup, chance, last))
    return in_order(steps)


def near_plan(plan: Plan, chance: Random, most: int = 5 * MICROSECONDS) -> Plan:
    """Returns a plan with every time a little earlier or later: a search around a known story.

    Args:
        plan: The story; steps that wait for an event stay as they are.
        chance: The only source of randomness.
        most: Largest shift of a time, in microseconds.
    """
    return tuple(
        Step(At(time=max(step.when.time + chance.randint(-most, most), 0)), step.do)
        if isinstance(step.when, At)
        else step
        for step in plan
    )


Made = tuple[AnyAction, AnyAction | None, int]
"""A fault, the action that heals it, and the time between them in microseconds."""

Trigger = At | When


def _failovers(setup: Setup, _: Version, chance: Random, last: int) -> list[Step]:
    """One leader after the other ends soon after its election, and all return: elections with few writes between.

    The first steps of a new follower show only if the leader is gone before it has fetched again.
    """
    partition = _partition(setup, chance)
    leader = f"leader of {partition}"
    steps = []
    back = chance.choice((50, 400, 1500, 4000)) * MICROSECONDS
    for number in range(1, chance.randint(2, 5)):
        after = chance.randint(0, last) if number == 1 else chance.choice(_SOON)
        when = When(kind=Kind.BECAME_LEADER, fields={"partition": partition}, count=number, after=after)
        steps.append(Step(when, Crash(leader) if chance.random() < 0.7 else Pause(leader, back)))
        steps.extend(Step(_later(when, back, last), Start(f"broker-{broker.id}")) for broker in setup.brokers)
    return steps


def _laggard(setup: Setup, _: Version, chance: Random, last: int) -> list[Step]:
    """One replica is cut off until it is out of the ISR, and is the only one left when it returns."""
    topic = chance.choice(setup.topics)
    behind, *others = chance.sample(sorted(chance.choice(topic.assignment)), len(topic.assignment[0]))
    begin = _round(chance.randint(0, last // 2))
    gone = begin + chance.choice((600, 1500, 3000, 5000)) * MICROSECONDS
    steps = [Step(At(time=begin), Cut(f"broker-{behind}", f"broker-{other}", gone - begin)) for other in others]
    for other in others:
        down = gone - chance.choice((0, 1, 50, 300)) * MICROSECONDS
        steps.append(Step(At(time=down), Crash(f"broker-{other}")))
        steps.append(Step(At(time=max(down, last) + chance.choice((0, 500)) * MICROSECONDS), Start(f"broker-{other}")))
    return steps


def _back_and_forth(setup: Setup, version: Version, chance: Random, last: int) -> list[Step]:
    """The leader loses its session and is elected again as the preferred one, several times in a row.

    In half of the plans one broker learns of it late: it then follows, or leads, in an epoch that has ended.
    """
    partition = _partition(setup, chance)
    begin, between = chance.randint(0, last // 2), chance.choice((100, 500, 1500)) * MICROSECONDS
    times = [min(_round(begin + number * 2 * between), last) for number in range(chance.randint(2, 5))]
    steps = []
    if chance.random() < 0.5:
        late = chance.choice((300, 1000, 3000)) * MICROSECONDS
        over = times[-1] - times[0] + between
        steps.append(Step(At(time=times[0]), Slow("active controller", _named_broker(setup, chance), late, over, True)))
    for time in times:
        steps.append(Step(At(time=time), _session_lost(setup, version, f"leader of {partition}")))
        steps.append(Step(At(time=min(time + between, last)), ElectPreferred(partition)))
    return steps


def _move(setup: Setup, version: Version, chance: Random, last: int) -> list[Step]:
    """A partition gets other replicas, or the same in another order; some moves are cancelled."""
    topic = chance.choice(setup.topics)
    number = chance.randrange(len(topic.assignment))
    target = chance.sample([broker.id for broker in setup.brokers], len(topic.assignment[number]))
    moment = _moment(chance, last)
    steps = [Step(moment, Reassign(f"{topic.name}-{number}", tuple(target)))]
    if version.moves_can_change and chance.random() < 0.3:
        after = chance.choice((1, 20, 300, 2000)) * MICROSECONDS
        steps.append(Step(_later(moment, after, last), CancelReassignment(f"{topic.name}-{number}")))
    return steps


_COMPOSED: dict[FaultKind, Callable[[Setup, Version, Random, int], list[Step]]] = {
    FaultKind.FAILOVERS: _failovers,
    FaultKind.LAGGARD: _laggard,
    FaultKind.BACK_AND_FORTH: _back_and_forth,
    FaultKind.MOVE: _move,
}


def _stays_away(setup: Setup, chance: Random, last: int) -> list[Step]:
    """A broker is down, or cut off from the others and not from the controller, from the last fault to the end."""
    away, *others = (f"broker-{broker.id}" for broker in chance.sample(setup.brokers, len(setup.brokers)))
    if chance.random() < 0.5:
        return [Step(At(time=last), Crash(away))]
    return [Step(At(time=last), Cut(away, other, setup.duration)) for other in others]


_SOON = (0, 300, 1000, 3000, 10_000, 100_000, 600_000)
"""Microseconds from an election to the end of the elected leader."""

_TRIGGERS = (
    Kind.APPENDED,
    Kind.HIGH_WATERMARK,
    Kind.BECAME_LEADER,
    Kind.ISR_ASKED,
    Kind.PARTITION_CHANGED,
    Kind.STARTED,
    Kind.BECAME_FOLLOWER,
    Kind.TRUNCATED,
)
"""Events just after which faults show most: between an append and its high watermark, between two elections."""


def _moment(chance: Random, last: int) -> Trigger:
    if chance.random() < 0.4:
        count = chance.choice((1, 2, 3, 4, 6, 9, 14, 30))
        after = chance.choice((0, 100, 1000, 20_000))
        return When(kind=chance.choice(_TRIGGERS), count=count, after=after)
    return At(time=_round(chance.randint(0, last)))


def _healing(made: Made, moment: Trigger, last: int) -> list[Step]:
    """The fault and the action that heals it, which waits for the same trigger, later."""
    action, cure, delay = made
    steps = [Step(moment, action)]
    if cure is not None:
        steps.append(Step(_later(moment, delay, last), cure))
    return steps


def _later(moment: Trigger, delay: int, last: int) -> Trigger:
    if isinstance(moment, At):
        return At(time=min(moment.time + delay, last))
    return When(kind=moment.kind, count=moment.count, after=moment.after + delay)


def _round(time: int) -> int:
    return time // MICROSECONDS * MICROSECONDS


def _length(chance: Random, last: int) -> int:
    """A random duration of a fault: from milliseconds to half the run, short and long ones equally often."""
    longest = max(last // 2, 2 * MICROSECONDS)
    return _round(int(MICROSECONDS * (longest / MICROSECONDS) ** chance.random())) + MICROSECONDS


def _broker(setup: Setup, chance: Random) -> str:
    if chance.random() < 0.4:
        return f"leader of {_partition(setup, chance)}"
    return f"broker-{chance.choice(setup.brokers).id}"


def _named_broker(setup: Setup, chance: Random) -> str:
    return f"broker-{chance.choice(setup.brokers).id}"


def _partition(setup: Setup, chance: Random) -> str:
    topic = chance.choice(setup.topics)
    return f"{topic.name}-{chance.randrange(len(topic.assignment))}"


def _other(setup: Setup, chance: Random, node: str) -> str:
    nodes = [f"broker-{broker.id}" for broker in setup.brokers if f"broker-{broker.id}" != node]
    nodes.extend(("active controller", *(client.name for client in setup.clients)))
    return chance.choice(nodes)


def _crash(setup: Setup, _: Version, chance: Random, last: int) -> Made:
    node = _named_broker(setup, chance)
    return Crash(node), Start(node), _length(chance, last)


def _restart(setup: Setup, _: Version, chance: Random, last: int) -> Made:
    node = _named_broker(setup, chance)
    return Stop(node), Start(node), _length(chance, last)


def _power_loss(setup: Setup, _: Version, chance: Random, last: int) -> Made:
    node = _named_broker(setup, chance)
    return PowerLoss((node,)), Start(node), _length(chance, last)


def _disk_loss(setup: Setup, _: Version, chance: Random, last: int) -> Made:
    node = _named_broker(setup, chance)
    return DiskLoss(node), Start(node), _length(chance, last)


def _pause(setup: Setup, _: Version, chance: Random, last: int) -> Made:
    return Pause(_broker(setup, chance), _length(chance, last)), None, 0


def _cut(setup: Setup, _: Version, chance: Random, last: int) -> Made:
    node = _broker(setup, chance)
    return Cut(node, _other(setup, chance, node), _length(chance, last), chance.random() < 0.4), None, 0


def _isolate(setup: Setup, version: Version, chance: Random, last: int) -> Made:
    """Cuts a broker off from every node, or only from the controller: a zombie."""
    controller = "zookeeper" if version.controller is ControllerKind.ZOOKEEPER else "active controller"
    target = chance.choice(("*", controller))
    return Cut(_broker(setup, chance), target, _length(chance, last)), None, 0


def _slow(setup: Setup, _: Version, chance: Random, last: int) -> Made:
    node = _broker(setup, chance)
    delay = chance.choice((5, 50, 500, 3000)) * MICROSECONDS
    return Slow(node, _other(setup, chance, node), delay, _length(chance, last), chance.random() < 0.4), None, 0


def _lossy(setup: Setup, _: Version, chance: Random, last: int) -> Made:
    node = _broker(setup, chance)
    return Lossy(node, _other(setup, chance, node), chance.choice((5, 30, 70)), _length(chance, last)), None, 0


def _slow_disk(setup: Setup, _: Version, chance: Random, last: int) -> Made:
    delay = chance.choice((1, 20, 300)) * MICROSECONDS
    return SlowDisk(_broker(setup, chance), delay, _length(chance, last)), None, 0


def _controller(setup: Setup, version: Version, chance: Random, last: int) -> Made:
    """KRaft: a voter crashes, active or not. ZooKeeper: the active controller is paused while another is elected."""
    if version.controller is ControllerKind.KRAFT and setup.controllers:
        node = f"controller-{FIRST_CONTROLLER + chance.randrange(setup.controllers)}"
        return Crash(node), Start(node), _length(chance, last)
    return Pause("active controller", _length(chance, last)), None, 0


def _preferred(setup: Setup, _: Version, chance: Random, __: int) -> Made:
    return ElectPreferred(_partition(setup, chance)), None, 0


def _session_lost(setup: Setup, version: Version, node: str) -> AnyAction:
    """ZooKeeper expires the session; in KRaft heartbeats do not arrive until the broker is fenced."""
    if version.controller is ControllerKind.ZOOKEEPER:
        return ExpireSession(node)
    session = {**version.defaults, **setup.settings}["broker.session.timeout.ms"]
    return Cut(node, "active controller", int(session) * MICROSECONDS * 5 // 4)


def _session(setup: Setup, version: Version, chance: Random, _: int) -> Made:
    return _session_lost(setup, version, _broker(setup, chance)), None, 0


def _late_controller(setup: Setup, _: Version, chance: Random, last: int) -> Made:
    """Delays the controller's messages to one broker."""
    delay = chance.choice((50, 300, 1000, 3000)) * MICROSECONDS
    return Slow("active controller", _broker(setup, chance), delay, _length(chance, last), True), None, 0


def _late_metadata(setup: Setup, version: Version, chance: Random, last: int) -> Made:
    """Has one broker learn late of what the controller decides; its heartbeats go on in KRaft mode."""
    if version.controller is ControllerKind.ZOOKEEPER:
        return _late_controller(setup, version, chance, last)
    return LateMetadata(_broker(setup, chance), _length(chance, last)), None, 0


def _break_connection(setup: Setup, _: Version, chance: Random, __: int) -> Made:
    """Breaks a connection; what is under way on it arrives later, while its sender asks again."""
    node = _broker(setup, chance)
    delay = chance.choice((0, 5, 500, 3000)) * MICROSECONDS
    return BreakConnection(node, _other(setup, chance, node), delay), None, 0


def _refuse_request(setup: Setup, _: Version, chance: Random, __: int) -> Made:
    return refused_requests(setup, _broker(setup, chance), chance), None, 0


def _directory(setup: Setup, _: Version, chance: Random, last: int) -> Made:
    """Fails the directory of one replica; a broker that ends by that is started again."""
    topic = chance.choice(setup.topics)
    number = chance.randrange(len(topic.assignment))
    node = f"broker-{chance.choice(topic.assignment[number])}"
    return DirectoryFailure(node, (f"{topic.name}-{number}",)), Start(node), _length(chance, last)


_MAKERS: dict[FaultKind, Callable[[Setup, Version, Random, int], Made]] = {
    FaultKind.CRASH: _crash,
    FaultKind.RESTART: _restart,
    FaultKind.PAUSE: _pause,
    FaultKind.CUT: _cut,
    FaultKind.ISOLATE: _isolate,
    FaultKind.SLOW: _slow,
    FaultKind.LOSSY: _lossy,
    FaultKind.SLOW_DISK: _slow_disk,
    FaultKind.CONTROLLER: _controller,
    FaultKind.PREFERRED: _preferred,
    FaultKind.LATE_CONTROLLER: _late_controller,
    FaultKind.LATE_METADATA: _late_metadata,
    FaultKind.BREAK_CONNECTION: _break_connection,
    FaultKind.REFUSE_REQUEST: _refuse_request,
    FaultKind.SESSION: _session,
    FaultKind.DIRECTORY: _directory,
    FaultKind.POWER_LOSS: _power_loss,
    FaultKind.DISK_LOSS: _disk_loss,
}
