"""Errors about servers that are no brokers, or do not answer: no cluster is needed for it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator

import pytest

from kreplica.config.handle import ClusterHandle
from kreplica.errors import UnreachableError
from kreplica.sources.kafka.connections import bootstrap
from kreplica.sources.kafka.connections.failures import Address, BrokerFailure
from kreplica.sources.kafka.snapshot import read_live
from kreplica.system.deadline import Deadline


@contextlib.contextmanager
def listening(answer: bytes | None) -> Iterator[str]:
    """A server that answers every connection with ``answer``, or accepts and stays silent."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        if answer is not None:
            threading.Thread(target=serve, args=(server, answer), daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def serve(server: socket.socket, answer: bytes) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)


def test_something_else_than_kafka_is_told() -> None:
    with listening(b"HTTP/1.1 400 Bad Request\r\n\r\n") as server, pytest.raises(UnreachableError) as caught:
        read_live(ClusterHandle("test", server, timeout=5))
    assert f"tried {server} (not a Kafka broker: it answered 'HTTP'...)" in str(caught.value)


def test_an_alert_of_tls_is_not_the_length_of_an_answer() -> None:
    """A TLS server's answer to a client without TLS: alert 10, unexpected_message (RFC 8446, 6); as int32 352 MB."""
    alert = bytes.fromhex("15 03 03 00 02 02 0a")
    tracemalloc.start()
    try:
        with listening(alert) as server, pytest.raises(UnreachableError) as caught:
            read_live(ClusterHandle("test", server, timeout=5))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert f"tried {server} (its listener speaks TLS: security.protocol is SSL or SASL_SSL there)" in str(caught.value)
    assert peak < 64 << 20


def test_a_length_alone_takes_no_memory() -> None:
    tracemalloc.start()
    try:
        with listening((1 << 20).to_bytes(4, "big") + b"x") as server, pytest.raises(UnreachableError):
            read_live(ClusterHandle("test", server, timeout=5))
        with listening((1 << 29).to_bytes(4, "big")) as server, pytest.raises(UnreachableError, match="not a Kafka"):
            read_live(ClusterHandle("test", server, timeout=5))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20


def test_unreachable_servers_are_all_named_in_one_line_within_the_timeout() -> None:
    with listening(None) as silent, socket.create_server(("127.0.0.1", 0)) as closed:
        refused = f"127.0.0.1:{closed.getsockname()[1]}"
        closed.close()
        begun = time.monotonic()
        with pytest.raises(UnreachableError) as caught:
            read_live(ClusterHandle("test", f"{silent},{refused},nowhere.invalid:9092", timeout=2))
        took = time.monotonic() - begun
    assert 1.5 < took < 5.5, "the timeout once for all of them"
    line = str(caught.value)
    assert f"{refused} (connection refused)" in line
    assert "nowhere.invalid:9092 (name not known)" in line
    assert f"{silent} (no answer within 2 s)" in line
    assert "\n" not in line


def test_after_a_failure_the_next_server_is_tried_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a silent one is given time."""
    monkeypatch.setattr(bootstrap, "PATIENCE_SECONDS", 60)
    begun = time.monotonic()
    with (
        listening(b"HTTP/1.1 400") as first,
        listening(b"SSH-2.0-") as second,
        pytest.raises(UnreachableError) as caught,
    ):
        read_live(ClusterHandle("test", f"{first},{second}", timeout=45))
    assert time.monotonic() - begun < 10
    assert all(
        words in str(caught.value) for words in (f"{first} (not a Kafka broker", f"{second} (not a Kafka broker")
    )


def test_once_the_time_is_over_no_further_server_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    over = threading.Event()

    def silent(address: Address, *_settings: object) -> None:
        tried.append(address.port)
        over.wait(10)
        raise BrokerFailure(address, "is gone")

    monkeypatch.setattr(bootstrap, "_open", silent)
    deadline = Deadline(0.01)
    time.sleep(0.02)
    servers = bootstrap.Bootstrap([Address("h", port) for port in (1, 2, 3)], {}, deadline)
    with pytest.raises(UnreachableError, match="tried h:1, h:2, h:3"):
        servers.connect()
    time.sleep(0.1)  # each is tried by a thread of its own
    over.set()
    servers.close()
    assert tried == [1]
