"""The certificates of a sandbox in a real TLS handshake."""

from __future__ import annotations

import socket
import ssl
import stat
import threading
from pathlib import Path

import pytest
from cryptography import x509

from kreplica.sandbox.certificates import write_certificates


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sandbox") / "tls"
    write_certificates(folder, ("alice", "bob"))
    return folder


def contexts(tls: Path, user: str | None) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=tls / "ca.pem")
    server.load_cert_chain(tls / "server.pem")
    server.verify_mode = ssl.CERT_REQUIRED
    client = ssl.create_default_context(cafile=tls / "ca.pem")
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    if user:
        client.load_cert_chain(tls / f"user-{user}.pem")
    return server, client


def shake_hands(tls: Path, user: str | None, host: str) -> str:
    """Return the common name the server sees, after a handshake over a real connection."""
    server_context, client_context = contexts(tls, user)
    seen: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            try:
                with server_context.wrap_socket(connection, server_side=True) as secured:
                    seen.append(dict(pair for (pair,) in secured.getpeercert()["subject"])["commonName"])
                    secured.send(b"x")
            except ssl.SSLError as error:
                seen.append(f"refused: {error.reason}")

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with (
                socket.create_connection(listening.getsockname(), timeout=10) as plain,
                client_context.wrap_socket(plain, server_hostname=host) as secured,
            ):
                secured.recv(1)
        except ssl.SSLError:
            pass
        thread.join(10)
    return seen[0]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_both_sides_accept_each_other(tls: Path, host: str) -> None:
    assert shake_hands(tls, "alice", host) == "alice"
    assert shake_hands(tls, "bob", host) == "bob"


def test_a_client_without_certificate_is_refused(tls: Path) -> None:
    assert shake_hands(tls, None, "localhost").startswith("refused")


def test_only_the_authority_may_sign_and_the_server_is_known_by_name_and_address(tls: Path) -> None:
    found = {}
    for name in ("ca", "server", "user-alice"):
        pem = (tls / f"{name}.pem").read_bytes()
        certificate = x509.load_pem_x509_certificate(pem[pem.index(b"-----BEGIN CERTIFICATE") :])
        found[name] = {extension.oid: extension.value for extension in certificate.extensions}
    authorities = {name: values[x509.BasicConstraints.oid].ca for name, values in found.items()}
    assert authorities == {"ca": True, "server": False, "user-alice": False}
    names = found["server"][x509.SubjectAlternativeName.oid]
    assert [str(name.value) for name in names] == ["localhost", "127.0.0.1"]


def test_keys_are_for_the_owner_alone(tls: Path) -> None:
    assert {stat.S_IMODE(path.stat().st_mode) for path in tls.iterdir()} == {0o600}
    assert sorted(path.name for path in tls.iterdir()) == ["ca.pem", "server.pem", "user-alice.pem", "user-bob.pem"]
