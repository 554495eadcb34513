"""Actions of the models of the transaction coordinator.

A request and its answer are under way one at a time for each client. What a coordinator has decided is a record of its
own log first; once that is committed it holds, and the client is answered.
"""

from __future__ import annotations

from kreplica.engine.explorer.model import Action
from kreplica.engine.explorer.models.coordinators.transactions.rules import CoordinatorRules
from kreplica.engine.explorer.models.coordinators.transactions.state import (
    ADD,
    ADDED,
    ASK_ID,
    ASKED,
    BEGUN,
    GIVE_ID,
    HAS_ID,
    NO_ID,
    NOBODY,
    READY,
    STOPPED,
    CoordinatorBounds,
    CoordinatorState,
    Message,
    Record,
    committed,
    coordinates,
    forget,
    message_of,
    number_of,
    put_committed,
    put_tail,
    tail,
)
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import contains, members, only, without
from kreplica.engine.rules.transactions.end_transaction import complete_transaction
from kreplica.engine.rules.transactions.producer_state import NO_PRODUCER_EPOCH
from kreplica.engine.rules.transactions.transaction_states import (
    PREPARED,
    TransactionMetadata,
    TransactionState,
    may_follow,
)

AGAIN = (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_COORDINATOR)
"""Errors after which a client tries again; after any other one it stops."""


class Coordination:
    """The actions of a model.

    Args:
        rules: Its rules.
    """

    def __init__(self, rules: CoordinatorRules) -> None:
        self.rules = rules

    # -- clients

    def ask(self, state: CoordinatorState, client: int, broker: int) -> bool:
        """A client asks a broker for a producer id."""
        if state.doing[client] != READY or not (self.rules.asks_any or broker == state.true_leader[0]):
            return False
        state.doing[client] = ASKED
        _send(state, client, Message(ASK_ID, broker))
        return True

    def hear(self, state: CoordinatorState, client: int) -> bool:
        """A client takes the answer to its request for a producer id."""
        answer = _taken(state, client, GIVE_ID)
        if answer is None:
            return False
        state.doing[client] = READY if answer.error else HAS_ID
        if answer.error or not self.rules.keeps_error:
            state.told[client] = answer.error
        if not answer.error:
            state.asks[client] = answer.broker if self.rules.transacts else NOBODY
            state.producer_id[client], state.epoch[client] = answer.producer_id, answer.epoch
        return True

    def add(self, state: CoordinatorState, client: int, partition: int) -> bool:
        """A client asks to add a partition to its transaction."""
        known = state.doing[client] in (HAS_ID, BEGUN) and self.rules.transacts
        if not known or state.adding[client] or contains(state.added[client], partition):
            return False
        state.doing[client], state.adding[client] = BEGUN, only(partition)
        owner = (state.producer_id[client], state.epoch[client])
        _send(state, client, Message(ADD, state.asks[client], ErrorCode.NONE, *owner, only(partition)))
        return True

    def hear_added(self, state: CoordinatorState, client: int) -> bool:
        """A client takes the answer to its request to add a partition."""
        answer = _taken(state, client, ADDED)
        if answer is None:
            return False
        if answer.error:
            state.told[client], state.adding[client] = answer.error, 0
        else:
            state.adding[client] = without(state.adding[client], answer.partitions)
            state.added[client] |= answer.partitions
        if answer.error == ErrorCode.NOT_COORDINATOR:
            state.asks[client] = state.true_leader[0]
        elif answer.error and answer.error not in AGAIN:
            state.doing[client], state.added[client] = STOPPED, 0
        return True

    # -- coordinators

    def take_ask(self, state: CoordinatorState, client: int) -> bool:
        """A broker takes a request for a producer id."""
        request = _taken(state, client, ASK_ID)
        if request is None:
            return False
        broker = request.broker
        if not coordinates(state, broker):
            _refuse(state, client, broker, GIVE_ID, ErrorCode.NOT_COORDINATOR)
            return True
        if state.known_id[broker] == NO_ID:
            state.known_id[broker], state.known_epoch[broker] = state.last_id[0] + 1, NO_PRODUCER_EPOCH
            state.last_id[0] += 1
        elif self.rules.goes_back:
            state.last_id[0] = state.known_id[broker]
        metadata = self._known(state, broker)
        decision = self.rules.gives(metadata)
        target = decision.target
        if target is not None and target.state is TransactionState.PREPARE_EPOCH_FENCE:
            metadata = self.rules.holds(metadata, target)
            decision = self.rules.aborts(metadata, target.producer_id, target.producer_epoch)
        self._write(state, broker, client, GIVE_ID, metadata, decision.error, decision.target)
        return True

    def take_add(self, state: CoordinatorState, client: int) -> bool:
        """A broker takes a request to add a partition."""
        request = _taken(state, client, ADD)
        if request is None:
            return False
        broker = request.broker
        if not coordinates(state, broker):
            _refuse(state, client, broker, ADDED, ErrorCode.NOT_COORDINATOR)
            return True
        metadata = None if state.known_id[broker] == NO_ID else self._known(state, broker)
        decision = self.rules.adds(metadata, request.producer_id, request.epoch, _names(request.partitions))
        self._write(state, broker, client, ADDED, metadata, decision.error, decision.target)
        return True

    def commit(self, state: CoordinatorState, broker: int) -> bool:
        """A coordinator's next record is committed, and the client that waits for it is answered."""
        records = tail(state, broker)
        if not records or not (self.rules.commits_replaced or _is_agreed(state, broker)):
            return False
        record = records.pop(0)
        put_committed(state, [*committed(state), record])
        put_tail(state, broker, records)
        self._hold(state, broker, record)
        if record.state in PREPARED:
            self._end(state, broker)
        if record.client != NOBODY:
            _answer(state, broker, record)
        return True

    def finish(self, state: CoordinatorState, broker: int) -> bool:
        """A new coordinator goes on with the end of a transaction that was decided before it."""
        waits = coordinates(state, broker) and state.known_id[broker] != NO_ID and not tail(state, broker)
        if not waits or state.known_state[broker] not in PREPARED:
            return False
        self._end(state, broker)
        return True

    def elect(self, state: CoordinatorState, broker: int) -> bool:
        """The controller makes another broker the coordinator, which reads the log."""
        if state.faults[0] == 0 or coordinates(state, broker):
            return False
        state.faults[0] -= 1
        old = state.true_leader[0]
        state.true_epoch[0] += self.rules.raises_epoch
        state.true_leader[0] = state.leader[broker] = broker
        state.coordinator_epoch[broker] = state.true_epoch[0]
        records = committed(state)
        if self.rules.inherits:
            for field in (state.known_id, state.known_epoch, state.known_state, state.known_partitions):
                field[broker] = field[old]
        elif records:
            self._hold(state, broker, records[-1])
        return True

    def follow(self, state: CoordinatorState, broker: int) -> bool:
        """A broker hears of the coordinator that has replaced it: it cuts its log, and its clients are told."""
        behind = state.coordinator_epoch[broker] < state.true_epoch[0]
        if not behind or not (self.rules.all_hear or coordinates(state, broker)):
            return False
        for record in tail(state, broker):
            if record.client != NOBODY:
                kind = ADDED if record.state == TransactionState.ONGOING else GIVE_ID
                _refuse(state, record.client, broker, kind, ErrorCode.NOT_COORDINATOR)
        put_tail(state, broker, [])
        forget(state, broker)
        state.leader[broker], state.coordinator_epoch[broker] = state.true_leader[0], state.true_epoch[0]
        return True

    # -- what a coordinator knows

    def _known(self, state: CoordinatorState, broker: int) -> TransactionMetadata:
        """The metadata of a coordinator that knows the transactional id."""
        waiting = tail(state, broker)
        known = TransactionState(state.known_state[broker])
        return TransactionMetadata(
            producer_id=state.known_id[broker],
            timeout=0,
            producer_epoch=state.known_epoch[broker],
            state=known,
            partitions=_names(state.known_partitions[broker]),
            client_version=self.rules.version if known in PREPARED else 0,
            pending=TransactionState(waiting[-1].state) if waiting else None,
        )

    def _hold(self, state: CoordinatorState, broker: int, record: Record) -> None:
        state.known_id[broker], state.known_epoch[broker] = record.producer_id, record.epoch
        state.known_state[broker], state.known_partitions[broker] = record.state, record.partitions

    def _end(self, state: CoordinatorState, broker: int) -> None:
        """Appends the record that ends a transaction; its markers are not modelled."""
        target = complete_transaction(self._known(state, broker), 0)
        put_tail(state, broker, [*tail(state, broker), _record(target, NOBODY, NOBODY)])

    def _write(
        self,
        state: CoordinatorState,
        broker: int,
        client: int,
        kind: int,
        metadata: TransactionMetadata | None,
        error: ErrorCode,
        target: TransactionMetadata | None,
    ) -> None:
        """Appends the record of a decision, or refuses. TransactionMetadata.prepareTransitionTo."""
        if target is None or metadata is None:
            _refuse(state, client, broker, kind, error)
        elif not may_follow(metadata.state, target.state, self.rules.version):
            _refuse(state, client, broker, kind, ErrorCode.UNKNOWN_SERVER_ERROR)  # an IllegalStateException
        else:
            put_tail(state, broker, [*tail(state, broker), _record(target, client, broker)])
            state.known_epoch[broker] = self.rules.holds(metadata, target).producer_epoch


def _send(state: CoordinatorState, client: int, message: Message) -> None:
    assert state.message[client] == 0, "a client waits for its answer before it sends again"
    state.message[client] = number_of(message)


def _taken(state: CoordinatorState, client: int, kind: int) -> Message | None:
    """The message of a client if it is of this kind; it is not under way any more."""
    if state.message[client] == 0:
        return None
    message = message_of(state.message[client])
    if message.kind != kind:
        return None
    state.message[client] = 0
    return message


def _refuse(state: CoordinatorState, client: int, broker: int, kind: int, error: ErrorCode) -> None:
    _send(state, client, Message(kind, broker, error))


def _answer(state: CoordinatorState, broker: int, record: Record) -> None:
    if record.state == TransactionState.ONGOING:
        _send(state, record.client, Message(ADDED, broker, partitions=record.partitions))
    elif record.state == TransactionState.EMPTY:
        owner = (record.producer_id, record.epoch)
        _send(state, record.client, Message(GIVE_ID, broker, ErrorCode.NONE, *owner))
    else:
        _refuse(state, record.client, broker, GIVE_ID, ErrorCode.CONCURRENT_TRANSACTIONS)


def _is_agreed(state: CoordinatorState, broker: int) -> bool:
    """True if a broker is the coordinator, and all brokers go by its epoch."""
    return broker == state.true_leader[0] and len(set(state.coordinator_epoch)) == 1


def _names(partitions: int) -> tuple[str, ...]:
    return tuple(map(str, members(partitions)))


def _record(target: TransactionMetadata, client: int, broker: int) -> Record:
    partitions = sum(only(int(partition)) for partition in target.partitions)
    return Record(target.state, client, broker, target.producer_id, target.producer_epoch, partitions)


def actions(bounds: CoordinatorBounds, rules: CoordinatorRules) -> tuple[Action, ...]:
    """The actions within bounds; the last is a fault."""
    clients, brokers, partitions = bounds.clients, bounds.replicas, bounds.partitions
    does = Coordination(rules)
    return (
        Action("ask", does.ask, (clients, brokers), "client {0} asks broker {1} for a producer id", (1, 1)),
        Action("take-ask", does.take_ask, (clients,), "a broker takes the request of client {0}", (1,)),
        Action("hear", does.hear, (clients,), "client {0} hears of its producer id, or that it has none", (1,)),
        Action("add", does.add, (clients, partitions), "client {0} asks to add partition {1}", (1, 0)),
        Action("take-add", does.take_add, (clients,), "a broker takes the partition of client {0}", (1,)),
        Action("hear-added", does.hear_added, (clients,), "client {0} hears of its partition", (1,)),
        Action("commit", does.commit, (brokers,), "the next record of broker {0} is committed", (1,)),
        Action("finish", does.finish, (brokers,), "broker {0} goes on with a transaction's end", (1,)),
        Action("follow", does.follow, (brokers,), "broker {0} hears that it is replaced", (1,)),
        Action("elect", does.elect, (brokers,), "broker {0} is elected, and reads the log", (1,)),
    )
