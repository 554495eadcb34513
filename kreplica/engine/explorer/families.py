"""Families of models: those that share a state, bounds, and the way in which they are shown to people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kreplica.engine.explorer.layout import State
from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.models.asynchronous_isr import models as async_models
from kreplica.engine.explorer.models.asynchronous_isr.models import AsyncBounds
from kreplica.engine.explorer.models.asynchronous_isr.trace import events_of as async_events_of
from kreplica.engine.explorer.models.asynchronous_isr.trace import seen_of as async_seen_of
from kreplica.engine.explorer.models.clients import models as client_models
from kreplica.engine.explorer.models.clients import trace as client_trace
from kreplica.engine.explorer.models.clients.bounds import ClientBounds
from kreplica.engine.explorer.models.coordinators.groups import models as group_models
from kreplica.engine.explorer.models.coordinators.groups import trace as group_trace
from kreplica.engine.explorer.models.coordinators.groups.state import GroupBounds
from kreplica.engine.explorer.models.coordinators.memberships import models as membership_models
from kreplica.engine.explorer.models.coordinators.memberships import trace as membership_trace
from kreplica.engine.explorer.models.coordinators.memberships.state import MembershipBounds
from kreplica.engine.explorer.models.coordinators.transactions import models as coordinator_models
from kreplica.engine.explorer.models.coordinators.transactions import trace as coordinator_trace
from kreplica.engine.explorer.models.coordinators.transactions.state import CoordinatorBounds
from kreplica.engine.explorer.models.epoch_answers import models as answers_models
from kreplica.engine.explorer.models.epoch_answers import trace as answers_trace
from kreplica.engine.explorer.models.epoch_answers.models import AnswersBounds
from kreplica.engine.explorer.models.kraft import models as kraft_models
from kreplica.engine.explorer.models.kraft import trace as kraft_trace
from kreplica.engine.explorer.models.kraft.messages import MOST_EPOCH, MOST_RECORDS, MOST_REPLICAS
from kreplica.engine.explorer.models.kraft.state import KraftBounds
from kreplica.engine.explorer.models.one_partition import models as partition_models
from kreplica.engine.explorer.models.one_partition import trace as partition_trace
from kreplica.engine.explorer.models.one_partition.state import Bounds, PartitionState
from kreplica.engine.explorer.models.one_partition.state import symmetry as partition_symmetry
from kreplica.engine.explorer.models.quorum import models as quorum_models
from kreplica.engine.explorer.models.quorum import trace as quorum_trace
from kreplica.engine.explorer.models.quorum.state import QuorumBounds
from kreplica.engine.explorer.models.settings import models as settings_models
from kreplica.engine.explorer.models.settings import state as settings_state
from kreplica.engine.explorer.models.settings import trace as settings_trace
from kreplica.engine.explorer.models.settings.state import SettingsBounds
from kreplica.engine.explorer.symmetry import Symmetry
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.trace import Event
from kreplica.engine.versions.version import NEVER
from kreplica.errors import UsageError
from kreplica.model.wording.nearest_names import nearest_or_known
from kreplica.model.wording.words import counted, listed

ProofBounds = (
    Bounds
    | KraftBounds
    | AsyncBounds
    | SettingsBounds
    | QuorumBounds
    | ClientBounds
    | CoordinatorBounds
    | AnswersBounds
    | GroupBounds
    | MembershipBounds
)


@dataclass(frozen=True, slots=True)
class Family:
    """Models that share a state.

    Args:
        names: Their names.
        sound: The model in which what breaks the others is mended; empty where none is.
        default: The bounds that they are explored within if nothing else is said.
        model_of: A model by its name, within bounds.
        limits: Bounds as the verdict tells them.
        sentence: Bounds in words.
        more_room: What to do if a state does not fit its fields; empty where all do.
        begins: The first state in words, with who leads in it as ``{leader}``.
        seen: A state as one partition's.
        told: An action in words, with the state before it.
        events_of: A counterexample as a trace.
        symmetry: Replicas that are alike; None where the first is not like the others.
        node: What a replica is on.
    """

    names: Sequence[str]
    sound: str
    default: ProofBounds
    model_of: Callable[..., Model]
    limits: Callable[..., Mapping[str, object]]
    sentence: Callable[..., str]
    more_room: str
    begins: str
    seen: Callable[[State], PartitionState]
    told: Callable[[State, Taken], str]
    events_of: Callable[[State, Sequence[Taken]], list[Event]]
    symmetry: Callable[..., Symmetry] | None = None
    node: str = "broker"


def family_of(model: str) -> Family:
    """The family of a model.

    Raises:
        UsageError: There is no such model.
    """
    for family in FAMILIES:
        if model in family.names:
            return family
    names = [name for family in FAMILIES for name in family.names]
    raise UsageError(f"there is no model {model!r}", "", nearest_or_known(model, names))


# -- one partition, whose controller decides and sends at once


def _partition_limits(bounds: Bounds) -> dict[str, int]:
    return {"replicas": bounds.replicas, "log": bounds.log, "records": bounds.records, "epochs": bounds.last_epoch}


def _partition_sentence(bounds: Bounds) -> str:
    return (
        f"{counted(bounds.replicas, 'replica')}, logs of {counted(bounds.log, 'record')},"
        f" {counted(bounds.records, 'record')} written, leader epochs 0 to {bounds.last_epoch}"
    )


PARTITION = Family(
    names=tuple(partition_models.TABLES),
    sound="kip-320",
    default=Bounds(3, 2, 2, 2),
    model_of=partition_models.model_of,
    limits=_partition_limits,
    sentence=_partition_sentence,
    more_room="",
    begins="nothing is decided yet, every replica is in sync",
    seen=lambda state: state,
    told=lambda _before, step: step.action.words(step.chosen),
    events_of=partition_trace.events_of,
    symmetry=partition_symmetry,
)


# -- a KRaft cluster, message by message


def _require_records(name: str, records: int) -> None:
    if records < 1:
        raise UsageError(f"{name} needs a record that is written, to tell whether it is kept", "", "--records 1")


def _kraft_model(name: str, bounds: KraftBounds) -> Model:
    _require_records(name, bounds.records)
    if not 0 < bounds.min_isr <= bounds.isr <= bounds.replicas:
        raise UsageError(
            f"{counted(bounds.isr, 'replica')} cannot be in sync at first, of {bounds.replicas} with min ISR"
            f" {bounds.min_isr}",
            "",
            "--in-sync from min ISR up to the number of replicas",
        )
    if bounds.replicas > MOST_REPLICAS or bounds.records > MOST_RECORDS:
        raise UsageError(f"{name} has room for {MOST_REPLICAS} replicas and {MOST_RECORDS} records")
    if bounds.decisions >= MOST_EPOCH:
        raise UsageError(f"{name} has room for {MOST_EPOCH - 1} decisions; so many faults lead to {bounds.decisions}")
    return kraft_models.model_of(name, bounds)


def _kraft_sentence(bounds: KraftBounds) -> str:
    return (
        f"{counted(bounds.replicas, 'replica')}, {bounds.isr} of them in sync, min ISR {bounds.min_isr},"
        f" {counted(bounds.records, 'record')} written; {counted(bounds.fences, 'broker')} fenced,"
        f" {counted(bounds.losses, 'log')} lost, {counted(bounds.stops, 'broker')} stopped,"
        f" {counted(bounds.shrinks, 'shrink')} by leaders, {counted(bounds.messages, 'message')} under way"
    )


KRAFT = Family(
    names=tuple(kraft_models.TABLES),
    sound="kip-966",
    default=KraftBounds(replicas=3, records=1, min_isr=2, isr=3, fences=0, losses=1, stops=0, shrinks=0, messages=8),
    model_of=_kraft_model,
    limits=lambda bounds: bounds._asdict(),
    sentence=_kraft_sentence,
    more_room="more messages are under way at once than there is room for: give more with --messages",
    begins="broker 1 leads, and those in sync have heard of it",
    seen=kraft_trace.seen,
    told=kraft_trace.told,
    events_of=kraft_trace.events_of,
)

# -- one leader that waits for the answer to its request for an ISR


def _async_limits(bounds: AsyncBounds) -> dict[str, int]:
    return {"replicas": bounds.replicas, "log": bounds.log, "epochs": bounds.last_epoch}


def _async_sentence(bounds: AsyncBounds) -> str:
    return (
        f"{counted(bounds.replicas, 'replica')}, logs of {counted(bounds.log, 'record')},"
        f" partition epochs 0 to {bounds.last_epoch}"
    )


def _async_family(name: str) -> Family:
    """A family of its own for each of these models: the high watermark that is shown goes by its rule."""
    seen = async_seen_of(name)
    return Family(
        names=(name,),
        sound="async-isr",
        default=AsyncBounds(3, 2, 3),
        model_of=async_models.model_of,
        limits=_async_limits,
        sentence=_async_sentence,
        more_room="",
        begins="broker 1 leads, every replica is in sync",
        seen=seen,
        told=lambda _before, step: step.action.words(step.chosen),
        events_of=async_events_of(seen),
    )


# -- answers of a leader of which another leader epoch has begun


def _answers_model(name: str, bounds: AnswersBounds) -> Model:
    most_replicas, most_epoch = answers_models.MOST_REPLICAS, answers_models.MOST_EPOCH
    if not 1 < bounds.replicas <= most_replicas or not 0 < bounds.last_epoch <= most_epoch:
        raise UsageError(
            f"{name} has 2 to {most_replicas} replicas, and leader epochs up to one from 1 to {most_epoch}"
        )
    return answers_models.model_of(name, bounds)


ANSWERS = Family(
    names=tuple(answers_models.TABLES),
    sound="epoch-answers-2.1.1",
    default=AnswersBounds(replicas=2, last_epoch=2),
    model_of=_answers_model,
    limits=lambda bounds: {"replicas": bounds.replicas, "epochs": bounds.last_epoch},
    sentence=lambda bounds: f"{counted(bounds.replicas, 'replica')}, leader epochs 0 to {bounds.last_epoch}",
    more_room="",
    begins="broker {leader} leads, and everybody fetches",
    seen=answers_trace.seen,
    told=answers_trace.told,
    events_of=answers_trace.events_of,
)

# -- settings and a budget of faults


def _settings_model(name: str, bounds: SettingsBounds) -> Model:
    _require_records(name, bounds.records)
    if bounds.replicas > settings_state.MOST_REPLICAS or bounds.records > settings_state.MOST_RECORDS:
        most = f"{settings_state.MOST_REPLICAS} replicas and {settings_state.MOST_RECORDS} records"
        raise UsageError(f"{name} has room for {most}")
    if bounds.faults > settings_state.MOST_FAULTS:
        raise UsageError(f"{name} has room for {settings_state.MOST_FAULTS} faults")
    if max(bounds.losses, bounds.stops, bounds.power_losses, bounds.power_losses_of_all) > bounds.faults:
        raise UsageError(
            "crashes and losses of power are faults, too: of each kind there are at most as many as --faults"
        )
    if bounds.last_epoch > settings_state.MOST_EPOCH:
        raise UsageError(
            f"{name} has room for {settings_state.MOST_EPOCH} leader epochs; so many faults lead to {bounds.last_epoch}"
        )
    if bounds.acks not in (1, ACKS_ALL):
        raise UsageError("acks is 1 or all: nobody is told whether a record with acks=0 was written")
    if not 0 < bounds.min_isr <= bounds.replicas:
        raise UsageError("min.insync.replicas is 1 at least, at most the number of replicas")
    if bounds.first_leader > bounds.replicas:
        raise UsageError(f"broker {bounds.first_leader} cannot lead at first: brokers are 1 to {bounds.replicas}")
    return settings_models.model_of(name, bounds)


def _settings_limits(bounds: SettingsBounds) -> dict[str, object]:
    flushes = None if bounds.flush_messages == NEVER else bounds.flush_messages
    told = {"acks": _acks(bounds), "first_leader": bounds.first_leader or None, "flush_messages": flushes}
    return {**bounds._asdict(), **told, "cut_offs": min(bounds.cut_offs, bounds.faults)}


def _acks(bounds: SettingsBounds) -> str:
    return "all" if bounds.acks == ACKS_ALL else str(bounds.acks)


def _other_faults(bounds: SettingsBounds) -> str:
    cut_off = f" {bounds.cut_offs} fenced or slow while up;" if bounds.cut_offs < bounds.faults else ""
    if bounds.power_losses == bounds.power_losses_of_all == 0:
        return cut_off
    all_at_once = f"{bounds.power_losses_of_all} of all at once"
    return f" losses of power: {bounds.power_losses} of one broker, {all_at_once};{cut_off}"


def _settings_sentence(bounds: SettingsBounds) -> str:
    return (
        f"acks={_acks(bounds)}, min.insync.replicas={bounds.min_isr},"
        f" unclean.leader.election.enable={str(bounds.unclean).lower()}"
        f"{'' if bounds.flush_messages == NEVER else f', flush.messages={bounds.flush_messages}'};"
        f" {counted(bounds.replicas, 'replica')},"
        f" {counted(bounds.records, 'record')} written, {counted(bounds.faults, 'fault')},"
        f" among them crashes: {bounds.losses} with the log lost, {bounds.stops} with the log kept;"
        f"{_other_faults(bounds)}"
        f" {f'broker {bounds.first_leader}' if bounds.first_leader else 'any broker'} leads at first"
    )


SETTINGS = Family(
    names=tuple(settings_models.VERSIONS),
    sound="",
    default=SettingsBounds(replicas=3, records=1, acks=ACKS_ALL, min_isr=2, unclean=False, faults=1, losses=0, stops=1),
    model_of=_settings_model,
    limits=_settings_limits,
    sentence=_settings_sentence,
    more_room="",
    begins="broker {leader} leads, every replica is in sync",
    seen=settings_trace.seen,
    told=settings_trace.told,
    events_of=settings_trace.events_of,
)

# -- the quorum of controllers


def _quorum_limits(bounds: QuorumBounds) -> dict[str, int]:
    return {
        "replicas": bounds.replicas,
        "log": bounds.log,
        "epochs": bounds.last_epoch,
        "records": bounds.records,
        "stops": bounds.stops,
        "fences": bounds.fences,
    }


def _quorum_model(name: str, bounds: QuorumBounds) -> Model:
    if bounds.last_epoch < 1 or bounds.fences > 1:
        raise UsageError(f"{name} has epochs from 1 on, and one controller at most that is cut off")
    return quorum_models.model_of(name, bounds)


def _quorum_sentence(bounds: QuorumBounds) -> str:
    return (
        f"{counted(bounds.replicas, 'controller')}, epochs 1 to {bounds.last_epoch}, logs of"
        f" {counted(bounds.log, 'record')}, {counted(bounds.records, 'record')} written besides one of each leader;"
        f" {counted(bounds.stops, 'crash', 'crashes')}, {counted(bounds.fences, 'controller')} cut off"
    )


QUORUM = Family(
    names=tuple(quorum_models.TABLES),
    sound="quorum",
    default=QuorumBounds(replicas=3, log=2, last_epoch=2, records=0, stops=1, fences=1),
    model_of=_quorum_model,
    limits=_quorum_limits,
    sentence=_quorum_sentence,
    more_room="",
    begins="nobody leads yet, every log is empty",
    seen=quorum_trace.seen,
    told=lambda _before, step: step.action.words(step.chosen),
    events_of=quorum_trace.events_of,
    node="controller",
)

# -- clients


def _client_model(name: str, bounds: ClientBounds) -> Model:
    _require_records(name, bounds.records)
    if bounds.records > client_models.MOST_RECORDS or bounds.faults > client_models.MOST_FAULTS:
        most = f"{client_models.MOST_RECORDS} records and {client_models.MOST_FAULTS} faults"
        raise UsageError(f"{name} has room for {most}")
    return client_models.model_of(name, bounds)


def _client_sentence(bounds: ClientBounds) -> str:
    return f"{counted(bounds.records, 'record')}, of end-txn transactions; {counted(bounds.faults, 'fault')}"


CLIENTS = Family(
    names=tuple(client_models.TABLES),
    sound="",
    default=ClientBounds(records=2, faults=1),
    model_of=_client_model,
    limits=lambda bounds: bounds._asdict(),
    sentence=_client_sentence,
    more_room="",
    begins="nothing is under way yet",
    seen=client_models.seen,
    told=lambda _before, step: step.action.words(step.chosen),
    events_of=client_trace.events_of,
)

# -- the coordinator of a transactional id


def _no_events(_initial: State, _steps: Sequence[Taken]) -> list[Event]:
    return []


_Coordinated = CoordinatorBounds | GroupBounds | MembershipBounds

_MAY_BE_NONE = ("faults", "time_outs")


def _require_room(name: str, bounds: _Coordinated, most: _Coordinated) -> None:
    """Raises UsageError unless the bounds are no larger than the largest, and only faults are 0."""
    fits = all(one <= limit for one, limit in zip(bounds, most, strict=True))
    if not fits or any(one <= 0 for field, one in bounds._asdict().items() if field not in _MAY_BE_NONE):
        rooms = ((field.removesuffix("s").replace("_", "-"), limit) for field, limit in most._asdict().items())
        *first, last = (counted(limit, field) for field, limit in rooms)
        raise UsageError(f"{name} has room for {listed(first)} and {last}")


def _within(most: _Coordinated, model_of: Callable[..., Model]) -> Callable[..., Model]:
    """Builds what gives a model by its name, within bounds that are no larger than the largest."""

    def model(name: str, bounds: _Coordinated) -> Model:
        _require_room(name, bounds, most)
        return model_of(name, bounds)

    return model


def _coordinator_sentence(bounds: CoordinatorBounds) -> str:
    return (
        f"{counted(bounds.clients, 'producer')} with one transactional id, {counted(bounds.replicas, 'broker')},"
        f" {counted(bounds.partitions, 'partition')} to add;"
        f" {counted(bounds.faults, 'election')} of another coordinator"
    )


def _coordinator_family(names: Sequence[str], faults: int) -> Family:
    return Family(
        names=names,
        sound="coordinator-4.1",
        default=CoordinatorBounds(clients=2, replicas=2, partitions=1, faults=faults),
        model_of=_within(coordinator_models.MOST, coordinator_models.model_of),
        limits=lambda bounds: bounds._asdict(),
        sentence=_coordinator_sentence,
        more_room="",
        begins="broker {leader} coordinates the transactional id, nobody has asked for a producer id",
        seen=coordinator_trace.seen,
        told=coordinator_trace.told,
        events_of=_no_events,
    )


COORDINATOR = _coordinator_family([name for name in coordinator_models.TABLES if name != "producer-ids"], faults=1)
PRODUCER_IDS = _coordinator_family(["producer-ids"], faults=0)

# -- a consumer group


def _group_sentence(bounds: GroupBounds) -> str:
    return (
        f"{counted(bounds.clients, 'client')}, {counted(bounds.partitions, 'topic')} of one partition;"
        f" {counted(bounds.faults, 'fault')}"
    )


def _group_family(
    names: Iterable[str],
    sound: str,
    default: GroupBounds | MembershipBounds,
    model_of: Callable[..., Model],
    sentence: Callable[..., str],
    seen: Callable[[State], PartitionState],
    told: Callable[[State, Taken], str],
    events_of: Callable[..., list[Event]],
) -> Family:
    return Family(
        names=tuple(names),
        sound=sound,
        default=default,
        model_of=model_of,
        limits=lambda bounds: bounds._asdict(),
        sentence=sentence,
        more_room="",
        begins="the group is empty, every client is about to join",
        seen=seen,
        told=told,
        events_of=events_of,
        node="client",
    )


GROUP = _group_family(
    group_models.TABLES,
    "consumer-group",
    GroupBounds(clients=2, partitions=2, faults=0),
    _within(group_models.MOST, group_models.model_of),
    _group_sentence,
    group_trace.seen,
    group_trace.told,
    _no_events,
)

# -- a consumer group by the engine's rules


def _membership_sentence(bounds: MembershipBounds) -> str:
    return (
        f"{counted(bounds.clients, 'client')}, {counted(bounds.partitions, 'partition')};"
        f" {counted(bounds.faults, 'fault')}, {counted(bounds.time_outs, 'time-out')}"
    )


MEMBERSHIP = _group_family(
    membership_models.TABLES,
    "consumer-group-4.3-mended",
    MembershipBounds(clients=2, partitions=2, faults=0, time_outs=0),
    _within(membership_models.MOST, membership_models.model_of),
    _membership_sentence,
    membership_trace.seen,
    membership_trace.told,
    membership_trace.events_of,
)

FAMILIES = (
    PARTITION,
    *map(_async_family, async_models.TABLES),
    ANSWERS,
    KRAFT,
    SETTINGS,
    QUORUM,
    CLIENTS,
    PRODUCER_IDS,
    COORDINATOR,
    GROUP,
    MEMBERSHIP,
)
