"""A small OAuth authority on loopback: it signs tokens for clients it knows, and publishes its key to brokers.

With what makes brokers take its tokens, and clients bring them.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import ssl
import threading
import time
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

ISSUER, AUDIENCE, KEY_ID = "kreplica-tests", "kafka", "key-1"
OAUTH = "org.apache.kafka.common.security.oauthbearer"


class TokenAuthority:
    """Answers ``/token`` (RFC 6749, section 4.4) and ``/jwks`` (RFC 7517).

    Args:
        clients: Secrets by client id; the client id becomes the principal.
        certificate: Key and certificate as PEM, for https.
    """

    def __init__(self, clients: dict[str, str], certificate: Path | None = None) -> None:
        self.clients = clients
        self.asked: list[dict[str, str]] = []
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        authority = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(200, {"keys": [authority.jwk()]})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self._answer(*authority.grant(self.headers.get("Authorization", ""), body))

            def _answer(self, code: int, document: object) -> None:
                content = json.dumps(document).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            self._scheme = "https"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stops answering."""
        self._server.shutdown()
        self._server.server_close()

    def grant(self, authorization: str, body: str) -> tuple[int, object]:
        """What a client gets for its credentials."""
        form = dict(urllib.parse.parse_qsl(body))
        self.asked.append(form)
        client, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        if form.get("grant_type") != "client_credentials":
            return 400, {"error": "unsupported_grant_type"}
        if self.clients.get(client) != secret:
            return 401, {"error": "invalid_client"}
        return 200, {"access_token": self.token(client), "token_type": "Bearer", "expires_in": 600}

    def token(self, subject: str, *, audience: str = AUDIENCE, lifetime: int = 600) -> str:
        """A signed token (RS256)."""
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": audience, "sub": subject, "iat": now - 5, "exp": now + lifetime, "scope": "all"}
        head = {"alg": "RS256", "typ": "JWT", "kid": KEY_ID}
        signed = b".".join(_encoded(json.dumps(part).encode()) for part in (head, claims))
        return b".".join([signed, _encoded(self.key.sign(signed, padding.PKCS1v15(), SHA256()))]).decode()

    def jwk(self) -> dict[str, str]:
        """Its public key."""
        numbers = self.key.public_key().public_numbers()
        return {
            "kty": "RSA",
            "use": "sig",
            "alg": "RS256",
            "kid": KEY_ID,
            "n": _encoded(numbers.n.to_bytes(256, "big")).decode(),
            "e": _encoded(numbers.e.to_bytes(3, "big")).decode(),
        }


@contextlib.contextmanager
def token_authority(clients: dict[str, str], certificate: Path | None = None) -> Iterator[TokenAuthority]:
    """An authority that listens until the end of the block."""
    authority = TokenAuthority(clients, certificate)
    try:
        yield authority
    finally:
        authority.close()


def settings_for_tokens(authority: TokenAuthority) -> dict[str, str]:
    """What makes the listener of SASL PLAIN take this authority's tokens, too: broker settings."""
    prefix = "listener.name.sasl_plain."
    return {
        f"{prefix}sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
        f"{prefix}oauthbearer.sasl.jaas.config": f"{OAUTH}.OAuthBearerLoginModule required;",
        f"{prefix}oauthbearer.sasl.server.callback.handler.class": f"{OAUTH}.OAuthBearerValidatorCallbackHandler",
        f"{prefix}sasl.oauthbearer.jwks.endpoint.url": f"{authority.url}/jwks",
        f"{prefix}sasl.oauthbearer.expected.audience": AUDIENCE,
        f"{prefix}sasl.oauthbearer.expected.issuer": ISSUER,
    }


@contextlib.contextmanager
def keys_allowed(authority: TokenAuthority) -> Iterator[None]:
    """Brokers started in the block may fetch its keys: their command line has to allow it (KAFKA-18267, Kafka 4.0)."""
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={authority.url}/jwks"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("JAVA_TOOL_OPTIONS", f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {allowed}".strip())
        yield


def with_tokens(servers: str, url: str, **options: str) -> dict[str, str]:
    """Kafka's own properties of a client that logs in by tokens from there, with these options of its login."""
    words = " ".join(f'{name}="{value}"' for name, value in options.items())
    return {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": url,
        "sasl.jaas.config": f"{OAUTH}.OAuthBearerLoginModule required {words};",
    }


def _encoded(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")
