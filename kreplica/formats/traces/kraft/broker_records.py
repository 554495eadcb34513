"""Records about brokers in a metadata log: what each says of the broker, and whether it can follow what was known.

Kafka: org.apache.kafka.controller.ClusterControlManager.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kreplica.engine.traces.trace_rule import TraceRule
from kreplica.engine.versions.version import Version
from kreplica.formats.metadata_log.image import BrokerState
from kreplica.formats.metadata_log.log import MetadataEntry
from kreplica.formats.traces.kraft.steps import Leaving

_FENCE, _UNFENCE, _SHUT_DOWN = 1, -1, 1
_BROKER_FIELD = {
    "REGISTER_BROKER_RECORD": ("brokerId", "brokerEpoch"),
    "UNREGISTER_BROKER_RECORD": ("brokerId", "brokerEpoch"),
    "BROKER_REGISTRATION_CHANGE_RECORD": ("brokerId", "brokerEpoch"),
    "FENCE_BROKER_RECORD": ("id", "epoch"),
    "UNFENCE_BROKER_RECORD": ("id", "epoch"),
}


class BrokerRecord(NamedTuple):
    """A record about a broker.

    Args:
        broker, epoch: The broker and its epoch.
        registers, unregisters, fences, unfences, shuts_down: What it does; a change may do none of these.
        directories: The directories that are online from then on; None if it does not say.
    """

    broker: int
    epoch: int
    registers: bool
    unregisters: bool
    fences: bool
    unfences: bool
    shuts_down: bool
    directories: frozenset[str] | None


def broker_record(entry: MetadataEntry) -> BrokerRecord | None:
    """A record as one about a broker; None if it is another."""
    kind, data = entry.record.type, entry.record.data
    fields = _BROKER_FIELD.get(kind)
    if fields is None or data is None:
        return None
    fencing = data.get("fenced") if kind == "BROKER_REGISTRATION_CHANGE_RECORD" else None
    return BrokerRecord(
        broker=data[fields[0]],
        epoch=data[fields[1]],
        registers=kind == "REGISTER_BROKER_RECORD",
        unregisters=kind == "UNREGISTER_BROKER_RECORD",
        fences=kind == "FENCE_BROKER_RECORD" or fencing == _FENCE,
        unfences=kind == "UNFENCE_BROKER_RECORD" or fencing == _UNFENCE,
        shuts_down=fencing is not None and data["inControlledShutdown"] == _SHUT_DOWN,
        directories=_directories(kind, data),
    )


def _directories(kind: str, data: Any) -> frozenset[str] | None:
    if kind == "BROKER_REGISTRATION_CHANGE_RECORD" and data["logDirs"]:
        return frozenset(data["logDirs"])
    return None


def broker_fault(record: BrokerRecord, known: BrokerState | None, first_offset: int, version: Version) -> str | None:
    """The fault in a record about a broker, None if it can follow.

    Since 4.0 a broker that is fenced already, as by a shutdown, is fenced once more when its session is over
    (BrokerHeartbeatTracker, KAFKA-17793).

    Args:
        record: The record.
        known: The broker before it, None if it is not registered.
        first_offset: Offset of the first record of its operation: the epoch of a new registration
            (ClusterControlManager.registerBroker takes the next offset to be written).
        version: Of the controllers.
    """
    if record.registers:
        return _registration_fault(record, known, first_offset)
    if known is None:
        return f"broker {record.broker} is not registered"
    faults = {
        f"broker epoch {known.epoch} expected, found {record.epoch}": record.epoch != known.epoch,
        f"broker {record.broker} is fenced already": record.fences
        and known.fenced
        and not version.fenced_keep_sessions,
        f"broker {record.broker} is not fenced": record.unfences and not known.fenced,
        f"broker {record.broker} is in controlled shutdown already": record.shuts_down and known.shutting_down,
    }
    return next((fault for fault, it_is in faults.items() if it_is), None)


def _registration_fault(record: BrokerRecord, known: BrokerState | None, first_offset: int) -> str | None:
    if known is not None and record.epoch == known.epoch:
        return None  # the same process tells more of itself
    if record.epoch != first_offset:
        return f"broker epoch {first_offset} expected, the offset it registers at, found {record.epoch}"
    return None


def leaving_before(record: BrokerRecord, known: BrokerState | None, version: Version) -> Leaving | None:
    """The broker that left ISRs by the records before this one; None if this one closes no such operation.

    One that was unregistered may have lost records when it registers again: it leaves the ELRs that it is in still
    (ClusterControlManager.registerBroker).
    """
    anew = known is None or record.epoch != known.epoch
    if record.registers and anew and version.restarted_leave_isrs:
        unclean = (True, False) if version.elr else (False,)
        return Leaving(record.broker, TraceRule.broker_restarted, unclean)
    if known is None:
        return None
    if record.fences:
        return Leaving(record.broker, TraceRule.broker_fenced)
    if record.unregisters:
        return Leaving(record.broker, TraceRule.broker_unregistered)
    if record.directories is not None and (failed := frozenset(known.directories) - record.directories):
        return Leaving(record.broker, TraceRule.directory_failed, directories=failed)
    return None
