"""Tokens of OAUTHBEARER: the unsecured one for tests, and the client credentials grant against a real HTTP server."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kreplica.errors import AuthenticationError, UnreachableError
from kreplica.sources.kafka.connections.failures import Address
from kreplica.sources.kafka.connections.sasl import TOKEN, sasl_client, with_token
from kreplica.system.deadline import Deadline


@contextmanager
def token_endpoint(
    status: int, body: bytes, header: str = "X: y", seconds_a_byte: float = 0
) -> Iterator[tuple[str, list[tuple[str, dict[str, list[str]]]]]]:
    seen: list[tuple[str, dict[str, list[str]]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers["Content-Length"])).decode()
            seen.append((self.headers["Authorization"], urllib.parse.parse_qs(form)))
            self.send_response(status)
            self.send_header(*header.split(": "))
            self.end_headers()
            with contextlib.suppress(OSError):
                for part in [body[begin : begin + 1] for begin in range(len(body))] if seconds_a_byte else [body]:
                    self.wfile.write(part)
                    time.sleep(seconds_a_byte)

        def log_message(self, *arguments: object) -> None:
            """Prints nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.block_on_close = False
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/token", seen
        server.shutdown()


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """Answers one connection with these bytes and ends it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                asked = b""
                while not asked.endswith(b"scope=kafka"):  # what is left unread would reset the connection
                    asked += connection.recv(4096)
                connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def oidc(endpoint: str) -> dict[str, object]:
    client = {"endpoint": endpoint, "client": "me", "secret": "hush", "scope": "kafka"}
    return {"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_oidc": client}


def test_client_credentials_are_exchanged_for_a_token() -> None:
    with token_endpoint(200, b'{"access_token": "abc"}') as (endpoint, seen):
        settings = with_token(oidc(endpoint), Deadline(5))
    assert settings[TOKEN] == "abc"
    credentials = base64.b64encode(b"me:hush").decode()
    assert seen == [(f"Basic {credentials}", {"grant_type": ["client_credentials"], "scope": ["kafka"]})]
    # RFC 7628, section 3.1: what the client sends first.
    client = sasl_client("OAUTHBEARER", settings, Address("broker", 9092))
    assert client.auth_bytes() == b"n,,\x01auth=Bearer abc\x01\x01"


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [(401, b"", "HTTP 401"), (200, b"{}", "answers no access_token"), (200, b"<html>", "answers no access_token")],
)
def test_a_refusing_endpoint_is_an_authentication_error(status: int, body: bytes, told: str) -> None:
    with token_endpoint(status, body) as (endpoint, _), pytest.raises(AuthenticationError) as caught:
        with_token(oidc(endpoint), Deadline(5))
    assert told in str(caught.value)
    assert endpoint in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_secret_does_not_follow_a_redirect(status: int) -> None:
    with token_endpoint(200, b'{"access_token": "abc"}') as (elsewhere, seen):
        redirecting = token_endpoint(status, b"", f"Location: {elsewhere}")
        with redirecting as (endpoint, _), pytest.raises(AuthenticationError, match=f"HTTP {status} .*is not sent on"):
            with_token(oidc(endpoint), Deadline(5))
    assert seen == []


def test_an_endpoint_that_drips_its_answer_is_left_at_the_deadline() -> None:
    begun = time.monotonic()
    with token_endpoint(200, b"x" * 1000, seconds_a_byte=0.1) as (endpoint, _):
        with pytest.raises(UnreachableError, match="no whole answer within 1 s"):
            with_token(oidc(endpoint), Deadline(1))
        assert time.monotonic() - begun < 3


@pytest.mark.parametrize("answer", [b"\x15\x03\x03\x00\x02\x02\x46", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
def test_an_endpoint_that_speaks_something_else_or_stops_is_told(answer: bytes) -> None:
    with answering(answer) as server, pytest.raises(UnreachableError, match="cut short or is not HTTP"):
        with_token(oidc(f"http://{server}/token"), Deadline(5))


def test_secrets_in_the_url_of_the_endpoint_are_neither_shown_nor_sent() -> None:
    with token_endpoint(401, b"") as (endpoint, _), pytest.raises(AuthenticationError) as caught:
        with_token(oidc(endpoint.replace("://", "://me:p@ss%2Fw:ord@") + "?key=hidden"), Deadline(5))
    shown = str(caught.value)
    assert "HTTP 401" in shown
    assert "://(hidden)@127.0.0.1" in shown
    assert not any(secret in shown for secret in ("ss%2Fw", "ord@", "key=hidden"))


def test_an_unreachable_endpoint_is_named() -> None:
    with pytest.raises(UnreachableError, match=r"http://127.0.0.1:1/token"):
        with_token(oidc("http://127.0.0.1:1/token"), Deadline(5))


def test_the_unsecured_token_is_a_json_web_token_without_signature() -> None:
    token = str(with_token({"sasl_oauth_unsecured_subject": "alice"}, Deadline(5))[TOKEN])
    head, claims, signature = token.split(".")
    assert signature == ""
    decoded = [json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))) for part in (head, claims)]
    assert decoded[0] == {"alg": "none"}
    assert decoded[1]["sub"] == "alice"
    assert decoded[1]["exp"] > decoded[1]["iat"]


def test_other_mechanisms_need_no_token() -> None:
    settings = {"sasl_mechanism": "PLAIN"}
    assert with_token(settings, Deadline(5)) is settings
