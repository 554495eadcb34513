"""Rules over the properties of producers and consumers.

A file does not tell the client's version, so a property that is not set is judged by what it means in each: acks=1
before 3.0 and all since, linger.ms 0 before 4.0 and 5 since (KIP-679, KIP-1030).
"""

from __future__ import annotations

from kreplica.advice.facts import ClientFacts, ClusterFacts, NotKnownError, Setting
from kreplica.advice.model import ClientRule, Proposal, Scope
from kreplica.health.rules import Severity
from kreplica.model.internal_topics import TRANSACTIONS_TOPIC

ACKS, IDEMPOTENCE, RETRIES = "acks", "enable.idempotence", "retries"
IN_FLIGHT = "max.in.flight.requests.per.connection"
TRANSACTIONAL_ID, TRANSACTION_TIMEOUT = "transactional.id", "transaction.timeout.ms"
MOST_TRANSACTION_TIMEOUT = "transaction.max.timeout.ms"
DELIVERY, LINGER, REQUEST = "delivery.timeout.ms", "linger.ms", "request.timeout.ms"
AUTO_COMMIT, ISOLATION, GROUP = "enable.auto.commit", "isolation.level", "group.id"
MOST_IN_FLIGHT = 5
"""ProducerStateManager keeps the last five batches of a producer to tell repeats (ProducerStateEntry)."""
MAX_RETRIES = 2**31 - 1
DEFAULT_DELIVERY, DEFAULT_LINGER, DEFAULT_REQUEST = 120_000, 5, 30_000
_IDEMPOTENCE = "KIP-98, KIP-679, ProducerConfig.postProcessAndValidateIdempotenceConfigs"
_REFUSED = "and as it stands the producer does not start: idempotence was asked for"


def _set(name: str, value: object) -> str:
    return f"{name}={value}"


def _in_file(client: ClientFacts, name: str) -> Setting | None:
    text = client.text(name)
    return None if text is None else Setting(text, "file")


def _all_acks(client: ClientFacts) -> bool:
    return client.word(ACKS) in (None, "all", "-1")


def _required(client: ClientFacts) -> bool:
    """True if the client sets idempotence or a transactional id; Kafka then refuses contradicting properties."""
    return client.word(IDEMPOTENCE) == "true" or client.text(TRANSACTIONAL_ID) is not None


def _contradicting(client: ClientFacts, name: str, value: object, severity: Severity | None = None) -> Proposal:
    required = _required(client)
    detail = _REFUSED if required else ""
    worse = Severity.CRITICAL if required else severity
    return Proposal(_in_file(client, name), str(value), _set(name, value), detail, severity=worse)


def _acks(client: ClientFacts, _: ClusterFacts | None) -> Proposal | None:
    if _all_acks(client):
        return None
    return _contradicting(client, ACKS, "all", Severity.CRITICAL if client.word(ACKS) == "0" else None)


def _acks_not_set(client: ClientFacts, _: ClusterFacts | None) -> Proposal | None:
    if client.text(ACKS) is not None or _required(client):
        return None
    return Proposal(None, "all", _set(ACKS, "all"))


def _idempotence_off(client: ClientFacts, _: ClusterFacts | None) -> Proposal | None:
    if client.word(IDEMPOTENCE) != "false":
        return None
    transactional = client.text(TRANSACTIONAL_ID) is not None
    detail = f"and as it stands the producer does not start: {TRANSACTIONAL_ID} needs it" if transactional else ""
    severity = Severity.CRITICAL if transactional else None
    return Proposal(_in_file(client, IDEMPOTENCE), "true", _set(IDEMPOTENCE, "true"), detail, severity=severity)


def _idempotence_lost(client: ClientFacts, _: ClusterFacts | None) -> Proposal | None:
    if client.text(IDEMPOTENCE) is not None or client.text(TRANSACTIONAL_ID) is not None:
        return None
    lines = [_set(IDEMPOTENCE, "true")]
    lines += [_set(ACKS, "all")] * (not _all_acks(client))
    lines += [_set(RETRIES, MAX_RETRIES)] * (client.integer(RETRIES) == 0)
    lines += [_set(IN_FLIGHT, MOST_IN_FLIGHT)] * ((client.integer(IN_FLIGHT) or 0) > MOST_IN_FLIGHT)
    if len(lines) == 1:
        return None
    because = ", ".join(line.partition("=")[0] for line in lines[1:])
    return Proposal(None, "true", "\n".join(lines), f"switched off by {because}")


def _retries_zero(client: ClientFacts, _: ClusterFacts | None) -> Proposal | None:
    return _contradicting(client, RETRIES, MAX_RETRIES) if client.integer(RETRIES) == 0 else None


def _retries_few(client: ClientFacts, _: ClusterFacts | None) -> Proposal | None:
    retries = client.integer(RETRIES)
    if retries is None or not 0 < retries < MAX_RETRIES:
        return None
    return Proposal(_in_file(client, RETRIES), str(MAX_RETRIES), _set(RETRIES, MAX_RETRIES))


def _in_flight(client: ClientFacts, _: ClusterFacts | None) -> Proposal | None:
    if (client.integer(IN_FLIGHT) or 0) <= MOST_IN_FLIGHT:
        return None
    if _required(client) or client.word(IDEMPOTENCE) == "false":
        return _contradicting(client, IN_FLIGHT, MOST_IN_FLIGHT)
    said = "and from client 4.0 on the producer does not start"
    setting, line = _in_file(client, IN_FLIGHT), _set(IN_FLIGHT, MOST_IN_FLIGHT)
    return Proposal(setting, str(MOST_IN_FLIGHT), line, said, severity=Severity.CRITICAL)


def _delivery_timeout(client: ClientFacts, _: ClusterFacts | None) -> Proposal | None:
    delivery, linger, request = (client.integer(name) for name in (DELIVERY, LINGER, REQUEST))
    linger = DEFAULT_LINGER if linger is None else linger
    least = linger + (DEFAULT_REQUEST if request is None else request)
    if delivery is None or delivery >= least:
        return None
    value = max(DEFAULT_DELIVERY, least)
    said = f"{LINGER} and {REQUEST} are {least} together"
    if client.text(LINGER) is None:
        said += f", {DEFAULT_LINGER} of it the default of {LINGER} from 4.0 on"
    return Proposal(_in_file(client, DELIVERY), str(value), _set(DELIVERY, value), said)


def _transaction_timeout(client: ClientFacts, facts: ClusterFacts | None) -> Proposal | None:
    timeout = client.integer(TRANSACTION_TIMEOUT)
    if client.text(TRANSACTIONAL_ID) is None or timeout is None:
        return None
    if facts is None:
        raise NotKnownError("brokers' settings")
    most = min(group.integer(MOST_TRANSACTION_TIMEOUT) for group in facts.broker_groups([MOST_TRANSACTION_TIMEOUT]))
    if timeout <= most:
        return None
    said = f"{MOST_TRANSACTION_TIMEOUT} of the brokers is {most}"
    return Proposal(_in_file(client, TRANSACTION_TIMEOUT), str(most), _set(TRANSACTION_TIMEOUT, most), said)


def _auto_commit(client: ClientFacts, _: ClusterFacts | None) -> Proposal | None:
    if client.word(AUTO_COMMIT) == "false" or client.text(GROUP) is None:
        return None
    return Proposal(_in_file(client, AUTO_COMMIT), "false", _set(AUTO_COMMIT, "false"))


def _auto_commit_without_group(client: ClientFacts, _: ClusterFacts | None) -> Proposal | None:
    if client.word(AUTO_COMMIT) != "true" or client.text(GROUP) is not None:
        return None
    return Proposal(_in_file(client, AUTO_COMMIT), "false", _set(AUTO_COMMIT, "false"))


def _isolation(client: ClientFacts, facts: ClusterFacts | None) -> Proposal | None:
    if client.word(ISOLATION) == "read_committed":
        return None
    if facts is None:
        raise NotKnownError("whether transactions are used")
    if TRANSACTIONS_TOPIC not in facts.partition_counts:
        return None
    return Proposal(_in_file(client, ISOLATION), "read_committed", _set(ISOLATION, "read_committed"))


CLIENT_RULES: tuple[ClientRule, ...] = (
    ClientRule(
        name="acks",
        scope=Scope.PRODUCER,
        setting=ACKS,
        severity=Severity.WARNING,
        why="the leader answers before others have the record, with 0 nobody answers: it is lost with the leader, and"
        " min.insync.replicas does not count",
        price="each write waits for the in-sync replicas; writes are refused while fewer than min.insync.replicas are"
        " in sync",
        source="Apache Kafka documentation, producer setting acks",
        judge=_acks,
    ),
    ClientRule(
        name="acks-not-set",
        scope=Scope.PRODUCER,
        setting=ACKS,
        severity=Severity.INFO,
        why="what holds depends on the client's version: all from 3.0 on, 1 before",
        price="none with clients from 3.0 on; with older ones each write waits for the in-sync replicas",
        source="KIP-679",
        judge=_acks_not_set,
    ),
    ClientRule(
        name="idempotence-off",
        scope=Scope.PRODUCER,
        setting=IDEMPOTENCE,
        severity=Severity.WARNING,
        why="a retry can write a record twice, and behind later ones where more than one request is in flight",
        price="acks=all and at most five requests in flight",
        source=_IDEMPOTENCE,
        judge=_idempotence_off,
    ),
    ClientRule(
        name="idempotence-lost",
        scope=Scope.PRODUCER,
        setting=IDEMPOTENCE,
        severity=Severity.WARNING,
        why="idempotence is the default from 3.0 on (in effect from 3.0.1, 3.1.1 and 3.2.0, KAFKA-13598), but other"
        " properties switch it off without an error: retries can write records twice or out of order",
        price="acks=all and at most five requests in flight",
        source=_IDEMPOTENCE,
        judge=_idempotence_lost,
    ),
    ClientRule(
        name="retries-zero",
        scope=Scope.PRODUCER,
        setting=RETRIES,
        severity=Severity.WARNING,
        why="every change of leader, each restart of a broker too, fails the writes under way",
        price="a write may take up to delivery.timeout.ms before it fails; order needs idempotence",
        source="KIP-91",
        judge=_retries_zero,
    ),
    ClientRule(
        name="retries-few",
        scope=Scope.PRODUCER,
        setting=RETRIES,
        severity=Severity.INFO,
        why="retries may be used up in the first second of a change of leader; delivery.timeout.ms is the limit to set",
        price="a write may take up to delivery.timeout.ms before it fails",
        source="KIP-91",
        judge=_retries_few,
    ),
    ClientRule(
        name="in-flight",
        scope=Scope.PRODUCER,
        setting=IN_FLIGHT,
        severity=Severity.WARNING,
        why="brokers remember the last five batches of a producer: above five there is no idempotence, and retries"
        " change the order",
        price="less throughput on links with a long round trip",
        source=_IDEMPOTENCE,
        judge=_in_flight,
    ),
    ClientRule(
        name="delivery-timeout",
        scope=Scope.PRODUCER,
        setting=DELIVERY,
        severity=Severity.CRITICAL,
        why="below linger.ms + request.timeout.ms the producer does not start",
        price="a write that cannot be delivered fails later",
        source="KIP-91, KafkaProducer.configureDeliveryTimeout",
        judge=_delivery_timeout,
    ),
    ClientRule(
        name="transaction-timeout",
        scope=Scope.PRODUCER,
        setting=TRANSACTION_TIMEOUT,
        severity=Severity.CRITICAL,
        why="brokers refuse the producer: they allow no longer transactions",
        price="a transaction that takes longer is aborted",
        source="KIP-98, TransactionCoordinator.handleInitProducerId",
        judge=_transaction_timeout,
    ),
    ClientRule(
        name="auto-commit",
        scope=Scope.CONSUMER,
        setting=AUTO_COMMIT,
        severity=Severity.INFO,
        why="what poll returned is committed by time: records handed to other threads count as done before they are,"
        " and a crash then loses them",
        price="the application commits by itself, after its work; it may see records again after a crash",
        source="Apache Kafka documentation, KafkaConsumer",
        judge=_auto_commit,
    ),
    ClientRule(
        name="auto-commit-without-group",
        scope=Scope.CONSUMER,
        setting=AUTO_COMMIT,
        severity=Severity.CRITICAL,
        why="without group.id the consumer does not start: there is nothing to commit to",
        price="none: without a group nothing is committed",
        source="KIP-289, ConsumerConfig.maybeOverrideEnableAutoCommit",
        judge=_auto_commit_without_group,
    ),
    ClientRule(
        name="isolation",
        scope=Scope.CONSUMER,
        setting=ISOLATION,
        severity=Severity.INFO,
        why="transactions are used on this cluster: records of aborted ones are read as if they counted",
        price="records are read when their transaction ends: later, and not at all while one hangs",
        source="KIP-98",
        judge=_isolation,
    ),
)
