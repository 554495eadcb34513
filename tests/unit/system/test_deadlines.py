"""One timeout bounds a whole read, whatever the other side does: silent, or a byte now and then for ever."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from kreplica.config.handle import ClusterHandle
from kreplica.errors import UnreachableError
from kreplica.sources import Facet, read_snapshot
from kreplica.sources.kafka.broker_view import read_broker_view
from kreplica.system.deadline import Deadline

TIMEOUT = 1.0
SECONDS = 5.0
"""Seconds that a read with a limit of one may take, on a machine that does other things, too."""

Serve = Callable[[socket.socket], None]


def be_silent(connection: socket.socket) -> None:
    time.sleep(60)


def drip(answer: bytes) -> Serve:
    """Sends what begins as an answer, a byte every tenth of a second, and never comes to its end."""

    def serve(connection: socket.socket) -> None:
        connection.recv(4096)
        while True:
            for byte in answer:
                connection.sendall(bytes([byte]))
                time.sleep(0.1)

    return serve


SERVERS = {
    "silent": be_silent,
    "a long frame, dripped": drip(b"\x00\x10\x00\x00" + bytes(40)),
    "a server hello, dripped": drip(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03" + bytes(40)),
}
TLS = {"security.protocol": "SSL"}
ZOOKEEPER_TLS = {"zookeeper.ssl.client.enable": "true"}


@contextlib.contextmanager
def serving(serve: Serve) -> Iterator[str]:
    """Serves every connection in a thread of its own until the block ends."""

    def one(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            serve(connection)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                threading.Thread(target=one, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


def ended_in_time(read: Callable[[], object]) -> None:
    began = time.monotonic()
    with pytest.raises(UnreachableError):
        read()
    assert time.monotonic() - began < SECONDS


@pytest.mark.parametrize("properties", [{}, TLS], ids=["plaintext", "tls"])
@pytest.mark.parametrize("serve", SERVERS.values(), ids=SERVERS)
def test_a_broker_is_waited_for_no_longer_than_the_timeout(serve: Serve, properties: dict[str, str]) -> None:
    with serving(serve) as one, serving(serve) as other:
        handle = ClusterHandle("test", f"{one},{other}", properties=properties, timeout=TIMEOUT)
        ended_in_time(lambda: read_snapshot(handle, Facet.HEALTH))
        ended_in_time(lambda: read_broker_view(handle))


@pytest.mark.parametrize("properties", [{}, ZOOKEEPER_TLS], ids=["plain", "tls"])
@pytest.mark.parametrize("serve", SERVERS.values(), ids=SERVERS)
def test_so_is_zookeeper(serve: Serve, properties: dict[str, str]) -> None:
    with serving(serve) as one, serving(serve) as other:
        handle = ClusterHandle("test", zookeeper=f"{one},{other}", properties=properties, timeout=TIMEOUT)
        ended_in_time(lambda: read_snapshot(handle, Facet.HEALTH | Facet.ANSWERS))


def test_elections_and_their_token_have_one_timeout_together() -> None:
    from kreplica.control.elect import elect_preferred

    with serving(be_silent) as broker, serving(be_silent) as endpoint:
        properties = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": 'X required clientId="c" clientSecret="s";',
            "sasl.oauthbearer.token.endpoint.url": f"http://{endpoint}/token",
        }
        handle = ClusterHandle("test", broker, properties=properties, timeout=TIMEOUT)
        ended_in_time(lambda: elect_preferred(handle, [("orders", 0)]))
        ended_in_time(lambda: read_snapshot(handle, Facet.HEALTH))


def test_several_clusters_have_it_each_and_side_by_side() -> None:
    from kreplica.monitoring.clusters import read_clusters

    with serving(be_silent) as broker:
        handles = [ClusterHandle(f"c{number}", broker, timeout=TIMEOUT) for number in range(8)]
        ended_in_time(lambda: read_clusters(handles, Facet.HEALTH))


def test_a_command_that_waits_ends_with_its_own_time_whatever_a_read_may_take() -> None:
    from kreplica.health.wait_conditions import Goal
    from kreplica.monitoring.waiting.in_sync import wait
    from kreplica.monitoring.waiting.stop_gate import safe_to_stop

    with serving(be_silent) as broker:
        handle = ClusterHandle("test", broker, timeout=60)
        ended_in_time(lambda: safe_to_stop(handle, [1], settle=1, wait=TIMEOUT))
        ended_in_time(lambda: wait(handle, Goal.NO_UNDER_REPLICATED, timeout=TIMEOUT))


def test_a_deadline_of_a_year_is_one() -> None:
    from kreplica.system.time_limits import LONGEST_SECONDS

    assert 0 < Deadline(LONGEST_SECONDS).remaining() <= threading.TIMEOUT_MAX
