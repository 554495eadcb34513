"""Kinds of failures to reach a broker: credentials that it refuses are another thing than a listener."""

from __future__ import annotations

import ssl

import pytest

from kreplica.sources.kafka.connections.failures import (
    Address,
    BrokerFailure,
    CredentialsRefusedError,
    explain_tls_error,
)

WANTS_ONE = "it wants a client certificate (ssl.keystore.location)"
NOT_THIS = "it does not accept the client's certificate"


@pytest.mark.parametrize("ending", [ssl.SSLZeroReturnError, ssl.SSLEOFError, ConnectionResetError])
def test_a_handshake_that_the_other_side_ends_is_told(ending: type[OSError]) -> None:
    """Python 3.11.2 raises the first of them, later ones the second."""
    failure = explain_tls_error(Address("broker", 9092), ending(6, "closed (EOF)"), has_certificate=False)
    assert failure.reason.startswith("TLS handshake failed, its listener speaks no TLS")


@pytest.mark.parametrize(
    ("alert", "kind", "without", "with_one"),
    [
        # RFC 8446, 6.2, in the words of OpenSSL's sslerr.h.
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", CredentialsRefusedError, WANTS_ONE, NOT_THIS),
        ("SSLV3_ALERT_BAD_CERTIFICATE", CredentialsRefusedError, WANTS_ONE, NOT_THIS),
        ("SSLV3_ALERT_HANDSHAKE_FAILURE", CredentialsRefusedError, WANTS_ONE, NOT_THIS),
        ("TLSV1_ALERT_UNKNOWN_CA", CredentialsRefusedError, WANTS_ONE, NOT_THIS),
        ("TLSV1_ALERT_PROTOCOL_VERSION", BrokerFailure, *["TLS handshake failed: tlsv1 alert protocol version"] * 2),
        ("TLSV1_ALERT_INTERNAL_ERROR", BrokerFailure, *["TLS handshake failed: tlsv1 alert internal error"] * 2),
        ("NO_SHARED_CIPHER", BrokerFailure, *["TLS handshake failed: no shared cipher"] * 2),
    ],
)
def test_only_alerts_about_certificates_are_refused_credentials(
    alert: str, kind: type[BrokerFailure], without: str, with_one: str
) -> None:
    error = ssl.SSLError(1, f"[SSL: {alert}]")
    error.reason = alert
    found = [explain_tls_error(Address("broker", 9093), error, has_certificate=one) for one in (False, True)]
    assert [type(one) for one in found] == [kind, kind]
    assert [one.reason for one in found] == [without, with_one]
