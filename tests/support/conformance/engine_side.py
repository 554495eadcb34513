"""The engine's side: plays a row in the simulator, step by step, and reads the world after each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

from conformance import script
from conformance.reading import FENCED, NO_REPLICA, NOT_READABLE, OFFLINE, TIMED_OUT, Disk, Position, Reading, Told
from conformance.timers import Timer, bounds
from kreplica.engine import fault_plan
from kreplica.engine.settings import SETTINGS, Scope, Value, parse
from kreplica.engine.setup import (
    MILLISECOND,
    SECOND,
    Application,
    Client,
    Commit,
    ConsumerSetup,
    ProducerSetup,
    ReaderSetup,
    Setup,
    TopicSetup,
    Transaction,
    TransactionalSetup,
    cluster,
    sends,
)
from kreplica.engine.simulator.broker.broker import Broker
from kreplica.engine.simulator.node import Node
from kreplica.engine.simulator.plan_player import act
from kreplica.engine.simulator.simulation import Simulation
from kreplica.engine.simulator.world import build
from kreplica.engine.trace import Event, Kind, Trace, fields_of, text_of
from kreplica.engine.versions.supported import ControllerKind, version_named

WARM_UP = 20 * SECOND
PRODUCER: Mapping[str, Value] = {
    "retries": 0,
    "enable.idempotence": False,
    "linger.ms": 0,
    "request.timeout.ms": 3000,
    "delivery.timeout.ms": 6000,
}
"""As the real producers of ``real_clients``."""
GAP = 300 * MILLISECOND
"""Virtual time between actions that are done together."""
NEVER = 10_000 * SECOND
"""The end of a transaction that its producer never ends."""
MEMBER_LASTS = 20 * SECOND
"""Virtual time until a member of the group leaves."""
UNCERTAIN = {"REQUEST_TIMED_OUT", "NETWORK_EXCEPTION", "LEADER_NOT_AVAILABLE"}


class EngineSide:
    """One row in the simulator.

    Args:
        row: The row.
        topic: Name of its topic.
        kafka_version: As ``4.3.1``.
        server_settings: Settings of the real brokers; those that the engine knows are its, too.
        internal: Topics of the coordinators as the cluster has them.
        group: Of the row's consumers.
    """

    def __init__(
        self,
        row: script.Row,
        topic: str,
        kafka_version: str,
        server_settings: Mapping[str, str],
        internal: Sequence[TopicSetup] = (),
        group: str = "",
    ) -> None:
        self._row = row
        self._topic = topic
        self._partition = f"{topic}-0"
        self._group = group
        self._version = version_named(kafka_version)
        self._trace = Trace()
        self._dead_controller = ""
        self._cut_off: list[tuple[Node, Node]] = []
        lengths = [_length(step, server_settings) for step in row.steps]
        self._times = list(accumulate(lengths, initial=WARM_UP))
        setup = self._setup(topic, server_settings, internal)
        self.world: Simulation = build(setup, self._version, 1, self._trace)

    def _setup(self, topic: str, server_settings: Mapping[str, str], internal: Sequence[TopicSetup]) -> Setup:
        settings = {name: parse(name, value) for name, value in self._row.settings.items()}
        clients = tuple(self._clients())
        return cluster(
            self._row.brokers,
            TopicSetup(topic, (self._row.replicas,), settings),
            *internal,
            settings=_known(server_settings),
            controllers=self._row.controllers,
            clients=clients,
            down=tuple(client.name for client in clients),
            duration=self._times[-1] + SECOND,
        )

    def _actions(self) -> Iterator[tuple[int, str, script.Action]]:
        """Every action with its time and the name of its client, if it has one of its own."""
        for number, (step, at) in enumerate(zip(self._row.steps, self._times, strict=False), start=1):
            now = at
            for place, action in enumerate(script.parts(step.do)):
                yield now, f"client-{number}-{place}", action
                now += int(action.seconds * SECOND) if isinstance(action, script.Wait) else GAP

    def _clients(self) -> Iterator[Client]:
        for at, name, action in self._actions():
            if isinstance(action, script.Produce):
                records = sends(self._partition, *action.values, start=at)
                yield ProducerSetup(name, records, {**PRODUCER, "acks": action.acks}, sync=True)
            elif isinstance(action, script.Consume):
                level = "read_committed" if action.committed else "read_uncommitted"
                settings = {"isolation.level": level, "auto.offset.reset": "earliest"}
                yield ReaderSetup(name, (self._partition,), settings=settings)
            elif isinstance(action, script.Join):
                yield self._member(name, at, action)
        yield from self._transactional()

    def _member(self, name: str, at: int, action: script.Join) -> ConsumerSetup:
        settings: dict[str, Value] = {
            "group.id": self._group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        application = Application(commit=Commit.AFTER if action.commits else Commit.NEVER)
        return ConsumerSetup(name, (self._topic,), at, at + MEMBER_LASTS, settings, application)

    def _transactional(self) -> Iterator[TransactionalSetup]:
        """Each transactional producer, with its transactions from Begin to End."""
        found: dict[str, list[Transaction]] = {}
        settings: dict[str, dict[str, Value]] = {}
        for at, _, action in self._actions():
            if isinstance(action, script.Begin):
                settings.setdefault(
                    action.producer,
                    {
                        "transactional.id": f"{self._topic}-{action.id}",
                        "transaction.timeout.ms": action.timeout * 1000,
                        "linger.ms": 0,
                    },
                )
                records = sends(self._partition, *action.values, start=at + SECOND)
                found.setdefault(action.producer, []).append(Transaction(records, end=NEVER))
            elif isinstance(action, script.End):
                begun = found[action.producer]
                begun[-1] = replace(begun[-1], end=at, commit=action.commit)
        for name, transactions in found.items():
            yield TransactionalSetup(name, tuple(transactions), settings[name])

    def readings(self) -> Iterator[Reading]:
        """The reading before the first step, and those after each step."""
        self.world.scheduler.run(WARM_UP)
        yield self._read(())
        actions = list(self._actions())
        for begin, until in pairwise(self._times):
            before = len(self._trace.events)
            own = [one for one in actions if begin <= one[0] < until]
            for at, name, action in own:
                self.world.scheduler.run(at)
                self._do(action, name)
            self.world.scheduler.run(until)
            events = self._trace.events[before:]
            yield self._read(tuple(text for _, name, action in own for text in _told_client(action, name, events)))

    # -- actions

    def _do(self, action: script.Action, client: str) -> None:
        if isinstance(action, script.End | script.Wait):
            return  # the application of a producer has its time
        if isinstance(action, script.Produce | script.Consume | script.Join | script.Begin):
            self._start_client(action.producer if isinstance(action, script.Begin) else client)
            return
        if isinstance(action, script.Cut | script.Restore):
            source, target = (self.world.node(f"broker-{one}") for one in (action.source, action.target))
            self.world.network.link(source, target).cuts = int(isinstance(action, script.Cut))
            return
        if isinstance(action, script.CutController | script.RestoreController):
            self._cut_controller(action)
            return
        if isinstance(action, script.KillController | script.StartController):
            self._end_or_start_controller(action)
            return
        planned = _PLANNED.get(type(action))
        if planned is not None:
            assert act(self.world, planned(action, self._partition)), f"nobody did {action}"
            return
        broker = self.world.node(f"broker-{action.broker}")  # type: ignore[attr-defined]
        if isinstance(action, script.Pause):
            broker.pause()
        else:
            assert isinstance(action, script.Resume), action
            broker.resume()

    def _cut_controller(self, action: script.CutController | script.RestoreController) -> None:
        """Cuts the active controller off, or undoes all of it."""
        if isinstance(action, script.CutController):
            active = self.world.active_controller()
            brokers = [self.world.node(f"broker-{one}") for one in action.brokers]
            others = brokers or [one for one in self.world.controllers if one is not active]
            cut = [pair for other in others for pair in ((active, other), (other, active))]
            self._cut_off += cut
        else:
            cut, self._cut_off = self._cut_off, []
        for source, target in cut:
            self.world.network.link(source, target).cuts = int(isinstance(action, script.CutController))

    def _end_or_start_controller(self, action: script.KillController | script.StartController) -> None:
        kills = isinstance(action, script.KillController)
        if kills:
            self._dead_controller = self.world.active_controller().name
        planned = (fault_plan.Crash if kills else fault_plan.Start)(self._dead_controller)
        assert act(self.world, planned), f"nobody did {action}"

    def _start_client(self, name: str) -> None:
        """Starts a client that is given the addresses of brokers that run, as the real ones are."""
        client: Any = self.world.node(name)
        runs = (place for place, broker in enumerate(self.world.brokers.values()) if broker.up and not broker.paused)
        client._bootstrap = next(runs, 0)
        client.start()

    # -- readings

    def _read(self, client: tuple[str, ...]) -> Reading:
        brokers = self.world.brokers
        live = {number: broker for number, broker in brokers.items() if broker.up and not broker.paused}
        told = {number: self._told(broker) for number, broker in live.items()}
        positions = {number: self._position(broker) for number, broker in live.items()}
        disks = {number: self._disk(broker) for number, broker in brokers.items()}
        away = dict.fromkeys(brokers.keys() - live.keys(), NOT_READABLE)
        return Reading({**told, **away}, {**positions, **away}, disks, client)

    def _told(self, broker: Broker) -> Told | str:
        state = broker.image.get(self._partition)
        if state is None:
            return NO_REPLICA
        knows_elr = self._version.controller is ControllerKind.KRAFT and self._version.number >= (4, 0)
        everyone = (*state.replicas, *state.former)
        elr = tuple(sorted(one for place, one in enumerate(everyone) if state.elr >> place & 1))
        isr = tuple(sorted(state.ids(state.isr)))
        return Told(state.leader_id, state.leader_epoch, isr, elr if knows_elr else None)

    def _is_offline(self, broker: Broker) -> bool:
        return self._partition in self.world.cluster.offline_directories.get(broker.id, ())

    def _position(self, broker: Broker) -> Position | str:
        if self._is_offline(broker):
            return OFFLINE
        replica = broker.replicas.get(self._partition)
        if replica is None:
            return NO_REPLICA
        return Position(replica.log.end, replica.high_watermark, replica.last_stable_offset)

    def _disk(self, broker: Broker) -> Disk | str:
        if self._is_offline(broker):
            return OFFLINE
        replica = broker.replicas.get(self._partition)
        if replica is None:
            return NO_REPLICA
        log = replica.log
        records = ((offset, one.epoch, text_of(one)) for offset, one in enumerate(log.records, start=log.start))
        epochs = tuple(zip(log.epochs, log.starts, strict=True))
        return Disk(tuple(records), epochs, replica.checkpointed, replica.recovery_point)


def _length(step: script.Step, server_settings: Mapping[str, str]) -> int:
    """Virtual time of a step, in microseconds."""
    if step.timer is Timer.LAG:
        return int((bounds(step.timer, server_settings)[1] + 1) * SECOND)
    return int(step.seconds * SECOND)


def _known(server_settings: Mapping[str, str]) -> dict[str, Value]:
    scopes = (Scope.BROKER, Scope.TOPIC)
    return {
        name: parse(name, value)
        for name, value in server_settings.items()
        if name in SETTINGS and SETTINGS[name].scope in scopes
    }


def _told_client(action: script.Action, client: str, events: list[Event]) -> tuple[str, ...]:
    """What a client was told, in words that both sides use."""
    if isinstance(action, script.Begin | script.End):
        client = action.producer
    kinds = _HEARS.get(type(action), ())
    heard = [_WORDS[event.kind](fields_of(event)) for event in events if event.node == client and event.kind in kinds]
    commits = [fields_of(event)["offset"] for event in events if event.kind == Kind.OFFSET_COMMITTED]
    return (*heard, *map(committed, commits[-1:])) if isinstance(action, script.Join) else tuple(heard)


def acknowledged(value: str, offset: int) -> str:
    """A record that its producer counts as written; with acks=0 it is told no offset."""
    return f"{value} at {offset}" if offset >= 0 else f"{value} sent"


def committed(offset: int) -> str:
    """The last offset that a consumer committed."""
    return f"{offset} committed"


def failed(value: str, error: str) -> str:
    """A record that its producer gave up."""
    return f"{value}: {TIMED_OUT if error in UNCERTAIN else error}"


ENDS = {"committed": "committed", "aborted": "aborted", "unknown": FENCED}
_HEARS: dict[type, tuple[str, ...]] = {
    script.Produce: (Kind.ACKNOWLEDGED, Kind.SEND_FAILED),
    script.Begin: (Kind.ACKNOWLEDGED, Kind.SEND_FAILED),
    script.Consume: (Kind.CONSUMED,),
    script.Join: (Kind.CONSUMED,),
    script.End: (Kind.TRANSACTION_ENDED,),
}
_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    Kind.ACKNOWLEDGED: lambda event: acknowledged(event["value"], event["offset"]),
    Kind.SEND_FAILED: lambda event: failed(event["value"], event["error"]),
    Kind.CONSUMED: lambda event: f"{event['value']} at {event['offset']}",
    Kind.TRANSACTION_ENDED: lambda event: ENDS[event["outcome"]],
}
_PLANNED: dict[type, Callable[[Any, str], fault_plan.AnyAction]] = {
    script.Kill: lambda action, _: fault_plan.Crash(f"broker-{action.broker}"),
    script.ShutDown: lambda action, _: fault_plan.Stop(f"broker-{action.broker}"),
    script.Start: lambda action, _: fault_plan.Start(f"broker-{action.broker}"),
    script.FailDisk: lambda action, partition: fault_plan.DirectoryFailure(f"broker-{action.broker}", (partition,)),
    script.ElectPreferred: lambda _action, partition: fault_plan.ElectPreferred(partition),
    script.ElectUnclean: lambda _action, partition: fault_plan.ElectUnclean(partition),
    script.Reassign: lambda action, partition: fault_plan.Reassign(partition, action.replicas),
    script.CancelMove: lambda _action, partition: fault_plan.CancelReassignment(partition),
    script.SetTopic: lambda action, partition: fault_plan.AlterTopic(
        partition.rpartition("-")[0], action.setting, action.value
    ),
}
