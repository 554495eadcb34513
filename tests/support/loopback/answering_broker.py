"""A broker on loopback that gives prepared answers: what a real one says only where something has gone wrong.

Requests and answers are in Kafka's own encoding, by kafka-python's definitions of the protocol.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from kreplica.sources.kafka.connections.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    MetadataResponse,
)

Answers: TypeAlias = Mapping[type[Any], Callable[[Any], Any]]
"""By class of the request; None for an answer that never comes."""


class AnsweringBroker:
    """Serves every connection until the block ends.

    Args:
        answers: What it answers; it knows no other requests.
        newest: The newest version of a request that it knows, where that is older than kafka-python's.
        features: Finalized features and their levels.

    Attributes:
        port: Where it listens.
        asked: Requests in the order in which they came, without ApiVersions.
        left: A client has gone.
    """

    def __init__(
        self,
        answers: Answers,
        *,
        newest: Mapping[type[Any], int] | None = None,
        features: Mapping[str, int] | None = None,
    ) -> None:
        self._newest, self._features = newest or {}, features or {}
        self.left = threading.Event()
        self._answers = {request.API_KEY: (request, answer) for request, answer in answers.items()}
        self._over = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self.asked: list[Any] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def close(self) -> None:
        self._over.set()
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError, struct.error), connection, connection.makefile("rb") as stream:
            while True:
                (size,) = struct.unpack(">i", stream.read(4))
                self._answer(connection, stream.read(size))
        self.left.set()

    def _answer(self, connection: socket.socket, frame: bytes) -> None:
        key, version, correlation = struct.unpack_from(">hhi", frame)
        if key == ApiVersionsRequest.API_KEY:
            answer, flexible_header = self._versions(), False  # its header never has tags (KIP-511)
        else:
            request_class, prepared = self._answers[key]
            request = request_class.decode(memoryview(frame), version=version, header=True)
            self.asked.append(request)
            answer = prepared(request)
            flexible_header = answer is not None and answer.flexible_version_q(version)
        if answer is None:
            self._over.wait(30)
            return
        body = bytes(answer.encode(version=version))
        header = struct.pack(">i", correlation) + (b"\0" if flexible_header else b"")
        connection.sendall(struct.pack(">i", len(header) + len(body)) + header + body)

    def _versions(self) -> Any:
        kinds = [ApiVersionsRequest, *(request for request, _ in self._answers.values())]
        listed = [
            ApiVersionsResponse.ApiVersion(
                api_key=one.API_KEY, min_version=0, max_version=self._newest.get(one, one.max_version)
            )
            for one in kinds
        ]
        kind = ApiVersionsResponse.FinalizedFeatureKey
        finalized = [
            kind(name=name, min_version_level=1, max_version_level=level) for name, level in self._features.items()
        ]
        return ApiVersionsResponse(error_code=0, api_keys=listed, throttle_time_ms=0, finalized_features=finalized)


class LateBroker(AnsweringBroker):
    """Keeps its first answer back until it is told to give it."""

    def __init__(self) -> None:
        super().__init__({MetadataRequest: lambda _: MetadataResponse(brokers=[], cluster_id="c", topics=[])})
        self.speaks = threading.Event()

    def _versions(self) -> Any:
        self.speaks.wait(30)
        return super()._versions()


@contextmanager
def answering_broker(
    answers: Answers, *, newest: Mapping[type[Any], int] | None = None, features: Mapping[str, int] | None = None
) -> Iterator[AnsweringBroker]:
    """Runs one until the end of the block."""
    broker = AnsweringBroker(answers, newest=newest, features=features)
    try:
        yield broker
    finally:
        broker.close()
