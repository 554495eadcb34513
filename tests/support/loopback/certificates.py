"""Certificates for tests: some that no broker of the sandbox has, and some in other stores than the sandbox's."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates


@contextlib.contextmanager
def posing(certificate: Path) -> Iterator[str]:
    """A server whose certificate no broker of the sandbox has: only the handshake is played."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    accepted, _ = server.accept()
                except OSError:
                    return
                with contextlib.suppress(OSError), context.wrap_socket(accepted, server_side=True) as connection:
                    connection.recv(1)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def self_signed(name: str | None, days: int) -> bytes:
    """Key and certificate as PEM, of this host unless a name is given, ending in so many days."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "posing")])
    ends = datetime.now(UTC) + timedelta(days=days)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    builder = builder.serial_number(7).not_valid_before(ends - timedelta(days=9)).not_valid_after(ends)
    entry = x509.DNSName(name) if name else x509.IPAddress(ip_address("127.0.0.1"))
    builder = builder.add_extension(x509.SubjectAlternativeName([entry]), critical=False)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem + builder.sign(key, SHA256()).public_bytes(Encoding.PEM)


def pkcs12_of(store: Path, password: str) -> bytes:
    """Key and certificates of a PEM file in another store, under a password."""
    pem = store.read_bytes()
    certificate, *others = x509.load_pem_x509_certificates(pem)
    key: Any = load_pem_private_key(pem, None)
    opened = BestAvailableEncryption(password.encode())
    return serialize_key_and_certificates(b"me", key, certificate, others, opened)
