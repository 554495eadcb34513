"""Reasons why a connection to a broker failed, worded to name the likely cause.

BrokerFailure                 it cannot be used: refused, name not known, closed, not a Kafka broker
├── BrokerSilentError         it does not answer in time, even if it accepts connections
├── CredentialsRefusedError   it answered: not with these credentials
└── RequestUnsupportedError   it does not know a request
"""

from __future__ import annotations

import errno
import socket
import ssl
from dataclasses import dataclass

_TLS_ALERT, _TLS_HANDSHAKE = 0x15, 0x16


@dataclass(frozen=True, slots=True)
class Address:
    """A broker's host and port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


_PLAINTEXT_HINT = "its listener speaks no TLS: security.protocol is PLAINTEXT or SASL_PLAINTEXT there"
_TLS_HINT = "its listener speaks TLS: security.protocol is SSL or SASL_SSL there"


class BrokerFailure(Exception):  # noqa: N818 - the base of the errors below, never a defect of kreplica
    """A broker cannot be used; ``str`` is ``host:port: reason``.

    Args:
        address: The broker.
        reason: One clause, its subject the broker.
    """

    def __init__(self, address: Address, reason: str) -> None:
        super().__init__(f"{address}: {reason}")
        self.address = address
        self.reason = reason


class BrokerSilentError(BrokerFailure):
    """No answer in time."""


class CredentialsRefusedError(BrokerFailure):
    """The broker answered and refused the credentials."""


class RequestUnsupportedError(BrokerFailure):
    """The broker does not know a request; the connection stays usable.

    Args:
        address: The broker.
        request: The request's name in Kafka's protocol.
    """

    def __init__(self, address: Address, request: str) -> None:
        super().__init__(address, f"does not know the request {request}")
        self.request = request


def connect(host: str, port: int, seconds: float) -> socket.socket:
    """Opens a TCP connection; host and port come from users, brokers and znodes, and may be invalid.

    Raises:
        OSError: It cannot be opened.
    """
    if not 0 < port < 1 << 16:  # libraries take the rest of the division
        raise OSError(errno.EINVAL, f"{port} is no port")
    try:
        return socket.create_connection((host, port), timeout=seconds)
    except UnicodeError:  # a label that is empty or too long: encodings.idna
        raise socket.gaierror(socket.EAI_NONAME, "no name of a host") from None
    except ValueError:
        raise OSError(errno.EINVAL, "no name of a host") from None


def explain_connect_error(error: OSError) -> str:
    """Explains why no TCP connection was made."""
    if isinstance(error, socket.gaierror):
        return "name not known"
    if isinstance(error, TimeoutError) or error.errno == errno.ETIMEDOUT:
        return "no connection in time"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return (error.strerror or str(error)).lower()


def explain_tls_error(address: Address, error: OSError, *, has_certificate: bool) -> BrokerFailure:
    """Explains why the TLS handshake failed, as far as the alerts of both sides show it.

    Args:
        address: The broker.
        error: What the TLS library raised.
        has_certificate: True if the client has a certificate.
    """
    alert = (getattr(error, "reason", None) or "").upper()
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message.rstrip(".")
        return BrokerFailure(address, f"its certificate is not trusted (ssl.truststore.location): {reason}")
    if "ALERT" in alert and ("CERTIFICATE" in alert or "HANDSHAKE_FAILURE" in alert or "UNKNOWN_CA" in alert):
        if not has_certificate:
            return CredentialsRefusedError(address, "it wants a client certificate (ssl.keystore.location)")
        return CredentialsRefusedError(address, "it does not accept the client's certificate")
    if "WRONG_VERSION_NUMBER" in alert or "RECORD_LAYER" in alert or "UNEXPECTED_EOF" in alert:
        return BrokerFailure(address, f"TLS handshake failed, {_PLAINTEXT_HINT}")
    # Which class an ended connection is differs by Python: SSLZeroReturnError in 3.11.2, SSLEOFError in later ones.
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError | ConnectionResetError):
        return BrokerFailure(address, f"TLS handshake failed, {_PLAINTEXT_HINT}")
    text = alert.lower().replace("_", " ") or error.strerror or str(error)
    return BrokerFailure(address, f"TLS handshake failed: {text}")


def explain_foreign_bytes(start: bytes) -> str:
    """Explains why four bytes cannot begin a Kafka response: names the protocol they belong to."""
    if start[0] in (_TLS_ALERT, _TLS_HANDSHAKE) and start[1] == 3:
        return _TLS_HINT
    if start.isascii() and bytes(start).decode("ascii").isprintable():
        return f"not a Kafka broker: it answered {start.decode('ascii')!r}..."
    return "not a Kafka broker"
