"""Broker registrations at a KRaft controller: heartbeats, sessions, fencing.

org.apache.kafka.controller.BrokerHeartbeatManager and ClusterControlManager, since 2.8. A fenced broker is registered
but out of every ISR and leads nothing.
"""

from enum import IntEnum

FENCED = 0
UNFENCED = 1
CONTROLLED_SHUTDOWN = 2
SHUTDOWN_NOW = 3
"""BrokerControlState."""

NO_BROKER = -1

CATCHING_UP_WAIT_MS = 10
FIRST_SHUTDOWN_WAIT_MS = 50
RESEND_MS = 100
TRACKER_SIZE = 16
LOW_32 = 2**32 - 1
SHUTDOWN_PATIENCE_MS = 300_000
"""A broker stops after five minutes even if the controller has not allowed it yet: BrokerServer.shutdown."""


class Resends(IntEnum):
    """The wait of a broker whose registration or heartbeat failed, before it sends the next.

    DOUBLED with every failure, up to broker.session.timeout.ms, up to 3.9.1; DOUBLED_TO_HALF, up to half of that, in
    4.0.0; INTERVAL, always broker.heartbeat.interval.ms, in 3.9.2 and from 4.0.1 on.
    """

    DOUBLED = 0
    DOUBLED_TO_HALF = 1
    INTERVAL = 2


class FencedFirst(IntEnum):
    """The broker that a controller fences first, where the sessions of several are over at one look.

    LONGEST_SILENT up to 3.9; since 4.0 the first in a hash table of broker ids and epochs: BY_HASH of a class, since
    4.2 BY_RECORD_HASH, which differs by a constant.
    """

    LONGEST_SILENT = 0
    BY_HASH = 1
    BY_RECORD_HASH = 2


def heartbeat_wait(caught_up: bool, wants_shutdown: bool, told_to_wait: bool, interval_ms: int) -> int:
    """Returns the wait of a broker between the answer to a heartbeat and the next heartbeat, in milliseconds.

    BrokerLifecycleManager.BrokerHeartbeatResponseEvent, since 2.8. A request to be unfenced, or to shut down, is sent
    at once, or as soon as the answer under way has come.

    Args:
        caught_up: Whether it has read the metadata log up to its own registration: until then the wait is short.
        wants_shutdown: Whether it is in controlled shutdown, and has not been allowed to stop yet.
        told_to_wait: Whether it had been told to wait before: only the first wait is short.
        interval_ms: broker.heartbeat.interval.ms.
    """
    if wants_shutdown:
        return interval_ms if told_to_wait else FIRST_SHUTDOWN_WAIT_MS
    return interval_ms if caught_up else CATCHING_UP_WAIT_MS


def resend_wait(failures: int, session_timeout_ms: int, interval_ms: int, resends: Resends) -> int:
    """Returns the wait of a broker after a registration or heartbeat that failed or was refused, in milliseconds.

    BrokerLifecycleManager.scheduleNextCommunicationAfterFailure; Kafka varies a wait that doubles by 2 %.

    Args:
        failures: Number of failures since the last success, without this one.
        session_timeout_ms: broker.session.timeout.ms.
        interval_ms: broker.heartbeat.interval.ms.
        resends: What the version does.
    """
    if resends == Resends.INTERVAL:
        return interval_ms
    most = session_timeout_ms // 2 if resends == Resends.DOUBLED_TO_HALF else session_timeout_ms
    return int(min(RESEND_MS << failures, most))


def session_expired(now: int, last_contact: int, session_timeout: int) -> bool:
    """True if a broker has been silent for longer than its session timeout, all in one unit.

    BrokerHeartbeatManager.hasValidSession.
    """
    return last_contact + session_timeout < now


def session_stands(fenced: bool, now: int, last_contact: int, session_timeout: int, fenced_keep_sessions: bool) -> bool:
    """True if the controller takes a broker for alive, so that another process may not register with its id.

    BrokerHeartbeatManager.hasValidSession: up to 3.9 a fenced broker has no session. Since 4.0 (BrokerHeartbeatTracker)
    its session lasts as long as that of any other, after a clean stop, too.

    Args:
        fenced: Whether the broker is fenced.
        now, last_contact, session_timeout: As of ``session_expired``.
        fenced_keep_sessions: Whether the version keeps it.
    """
    return (fenced_keep_sessions or not fenced) and not session_expired(now, last_contact, session_timeout)


def stale_broker(
    now: int, last_contacts: tuple[int, ...], unfenced: int, session_timeout: int, places: tuple[int, ...]
) -> int:
    """The broker to fence now, NO_BROKER if none: the first whose session is over, in the order of the controller.

    One at a time; the controller checks again at once. Up to 3.9 the first is the one silent for longest
    (BrokerHeartbeatManager.findOneStaleBroker); since 4.0 the first in a hash table, however long it has been silent
    (BrokerHeartbeatTracker.maybeRemoveExpired). The last of several is the last in the ISR, and the last leader.

    Args:
        now: The time.
        last_contacts: Time of each broker's last contact, by broker, in the same unit.
        unfenced: Set of brokers that are not fenced.
        session_timeout: broker.session.timeout.ms in that unit.
        places: By broker, what the order goes by: the last contact, or since 4.0 ``tracker_place``.
    """
    found = NO_BROKER
    for broker, last_contact in enumerate(last_contacts):
        stale = unfenced >> broker & 1 == 1 and session_expired(now, last_contact, session_timeout)
        if stale and (found == NO_BROKER or places[broker] < places[found]):
            found = broker
    return found


def tracker_place(broker: int, epoch: int, entries: int, fenced_first: FencedFirst) -> int:
    """Returns a broker's place in the table of brokers that a controller has heard of, since 4.0.

    BrokerHeartbeatTracker.contactTimes, a java.util.concurrent.ConcurrentHashMap of BrokerIdAndEpoch. Of two brokers
    with one place the one that was heard of first comes first; in a table that has grown, from twelve brokers on, they
    may be in another order, which is not modelled. Epochs that a broker had before are in that table, too,
    until a session has passed: they are left out here.

    Args:
        broker, epoch: Of its registration.
        entries: Number of brokers in the table.
        fenced_first: BY_HASH or BY_RECORD_HASH.
    """
    size = TRACKER_SIZE
    while entries >= size * 3 // 4:
        size *= 2
    hashed = 31 * broker + ((epoch ^ epoch >> 32) & LOW_32)
    if fenced_first == FencedFirst.BY_HASH:
        hashed += 31 * 31
    hashed &= LOW_32
    return (hashed ^ hashed >> 16) & (size - 1)


def next_state(
    state: int,
    wants_fence: bool,
    wants_shutdown: bool,
    metadata_offset: int,
    registration_offset: int,
    leaderships: int,
    shutdown_offset: int,
    lowest_active_offset: int,
) -> int:
    """The state that a heartbeat puts a broker in.

    BrokerHeartbeatManager.calculateNextBrokerState.

    Args:
        state: FENCED, UNFENCED or CONTROLLED_SHUTDOWN.
        wants_fence: The broker asks to be, or to stay, fenced: it has not recovered yet.
        wants_shutdown: It asks to shut down.
        metadata_offset: Offset up to which it has read the metadata log.
        registration_offset: Offset of its registration in that log: it has to have read it before it is unfenced.
        leaderships: Number of partitions it leads.
        shutdown_offset: In controlled shutdown, the offset by which its leaderships had been moved.
        lowest_active_offset: Offset up to which the slowest active broker has read: all have to know the new leaders.
    """
    if state == FENCED and not wants_shutdown:
        return UNFENCED if not wants_fence and metadata_offset >= registration_offset else FENCED
    if state == UNFENCED and not wants_shutdown:
        return FENCED if wants_fence else UNFENCED
    if state == UNFENCED and not wants_fence and leaderships > 0:
        return CONTROLLED_SHUTDOWN
    if state == CONTROLLED_SHUTDOWN and (leaderships > 0 or shutdown_offset > lowest_active_offset):
        return CONTROLLED_SHUTDOWN
    return SHUTDOWN_NOW


def registration_refused(session_valid: bool, same_incarnation: bool) -> bool:
    """True if a broker's registration is refused with DUPLICATE_BROKER_REGISTRATION.

    ClusterControlManager.registerBroker: another process has that id and is alive. A broker that restarts within its
    own session has to wait until that is over; before 4.0 only until its last incarnation is fenced, as a clean stop
    does.
    """
    return session_valid and not same_incarnation


def shut_down_uncleanly(previous_broker_epoch: int, registered_epoch: int, elr_enabled: bool) -> bool:
    """True if a registering broker may have lost records, and so leaves every ISR and ELR.

    ClusterControlManager.registerBroker with ELR (KIP-966), since 4.0: a broker that shut down cleanly sends the epoch
    it last had, from its .kafka_cleanshutdown file. Otherwise the shutdown counts as unclean.

    Args:
        previous_broker_epoch: What the broker sent; -1 without such a file.
        registered_epoch: The epoch of its last registration; -1 if it never registered.
        elr_enabled: Whether the feature eligible.leader.replicas.version is 1.
    """
    return elr_enabled and registered_epoch >= 0 and previous_broker_epoch != registered_epoch
