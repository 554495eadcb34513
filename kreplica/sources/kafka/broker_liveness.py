"""Asks brokers that ZooKeeper lists as live for an answer.

ZooKeeper lists a broker for as long as its session lasts: 18 s after its process was stopped or its network was cut. A
broker answers ApiVersions to anybody on every listener but one with TLS, which ends a connection that opens otherwise:
both show that its process runs. Nothing else is sent, and no credentials are.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partial

from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.model.wording.words import are, named
from kreplica.sources.kafka.connections.failures import Address, connect, explain_connect_error
from kreplica.system.deadline import Deadline
from kreplica.system.pool import Pool

_CLIENT = b"kreplica"
_API_VERSIONS = 18
_HEADER = struct.pack(">hhih", _API_VERSIONS, 0, 1, len(_CLIENT)) + _CLIENT
_REQUEST = struct.pack(">i", len(_HEADER)) + _HEADER


def silent_brokers(snapshot: ClusterSnapshot, deadline: Deadline) -> tuple[Gap, ...]:
    """Gaps for the brokers that are listed as live and do not answer, or have no address to ask.

    Args:
        snapshot: From ZooKeeper.
        deadline: When to stop waiting.
    """
    calls = {
        int(str(row["broker"])): partial(_why_silent, row["host"], row["port"], deadline)
        for row in snapshot.brokers.rows()
        if row["alive"]
    }
    pool: Pool[int, str] = Pool(calls, deadline)
    reasons = {broker: reason if error is None else str(error) for broker, reason, error in pool.results()}
    reasons |= dict.fromkeys(pool.unfinished, _no_answer(deadline))
    by_reason: dict[str, list[int]] = {}
    for broker, reason in sorted(reasons.items()):
        if reason:
            by_reason.setdefault(reason, []).append(broker)
    return tuple(_gap(brokers, reason) for reason, brokers in by_reason.items())


def _gap(brokers: Sequence[int], reason: str) -> Gap:
    who = named("broker", brokers)
    return Gap("silent-brokers", f"{who} {are(len(brokers))} listed as live in ZooKeeper, but {reason}", len(brokers))


def _why_silent(host: object, port: object, deadline: Deadline) -> str:
    """Why a broker counts as silent, empty if it answers."""
    if not host or not port:
        return "ZooKeeper has no address to ask"
    address = Address(str(host), int(str(port)))
    try:
        with connect(address.host, address.port, max(0.001, deadline.remaining())) as opened:
            opened.settimeout(max(0.001, deadline.remaining()))
            opened.sendall(_REQUEST)
            opened.recv(1)
    except TimeoutError:
        return _no_answer(deadline)
    except (ConnectionResetError, BrokenPipeError):  # it has ended the connection itself
        return ""
    except OSError as error:
        return f"at {address}: {explain_connect_error(error)}"
    return ""


def _no_answer(deadline: Deadline) -> str:
    return f"did not answer within {deadline.seconds:g} s"
