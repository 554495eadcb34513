"""Brokers that ZooKeeper lists are asked whether they answer: what counts as an answer."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from clusters.generated import snapshot_of

from kreplica.sources.kafka.broker_liveness import silent_brokers
from kreplica.system.deadline import Deadline

Listen = Callable[[str], int]


def _serve(listening: socket.socket, how: str, over: threading.Event) -> None:
    opened, _ = listening.accept()
    with opened:
        if how != "hangs":
            asked = opened.recv(100)
            assert asked[4:8] == b"\x00\x12\x00\x00", "ApiVersions, version 0"
        if how == "answers":
            opened.sendall(b"\x00\x00\x00\x06")
        if how != "closes":
            over.wait(30)


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Opens a port of somebody who answers, closes or hangs."""
    over, opened = threading.Event(), []

    def start(how: str) -> int:
        listening = socket.create_server(("127.0.0.1", 0))
        opened.append(listening)
        threading.Thread(target=_serve, args=(listening, how, over), daemon=True).start()
        return int(listening.getsockname()[1])

    yield start
    over.set()
    for one in opened:
        one.close()


def broker(number: int, port: int | None, *, alive: bool = True) -> dict[str, object]:
    return {"broker": number, "alive": alive, "host": "127.0.0.1" if port else None, "port": port}


def test_whoever_answers_or_ends_the_connection_is_there(listen: Listen) -> None:
    brokers = [broker(1, listen("answers")), broker(2, listen("closes"))]
    assert silent_brokers(snapshot_of([], brokers), Deadline(10)) == ()


def test_a_broker_that_hangs_costs_the_deadline_and_no_more(listen: Listen) -> None:
    brokers = [broker(1, listen("answers")), broker(2, listen("hangs")), broker(3, listen("hangs"))]
    began = time.monotonic()
    (gap,) = silent_brokers(snapshot_of([], brokers), Deadline(0.5))
    assert time.monotonic() - began < 5
    assert (gap.kind, gap.count) == ("silent-brokers", 2)
    assert gap.message == "brokers 2, 3 are listed as live in ZooKeeper, but did not answer within 0.5 s"


def test_a_closed_port_and_no_address_are_told_and_the_dead_are_not_asked() -> None:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = int(found.getsockname()[1])
    brokers = [broker(1, port), broker(2, None), broker(3, None, alive=False)]
    refused, nowhere = silent_brokers(snapshot_of([], brokers), Deadline(10))
    where = f"at 127.0.0.1:{port}: connection refused"
    assert refused.message == f"broker 1 is listed as live in ZooKeeper, but {where}"
    assert nowhere.message == "broker 2 is listed as live in ZooKeeper, but ZooKeeper has no address to ask"
