"""Certificates of a sandbox: an authority of its own, one for the servers, one for each user; PEM, short-lived.

Kafka reads PEM key stores, and so does librdkafka: one set of files serves every client.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.errors import MissingExtraError
from kreplica.sandbox.processes import LOOPBACK

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, Extension, ExtensionType

VALID_DAYS = 365


def write_certificates(folder: Path, users: tuple[str, ...]) -> None:
    """Write ``ca.pem``, ``server.pem`` and ``user-NAME.pem`` (key and chain each), readable by the owner alone.

    Raises:
        MissingExtraError: The Python package cryptography is not installed.
    """
    try:
        import cryptography  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "TLS listeners need the Python package cryptography", "", "pip install cryptography"
        ) from error
    folder.mkdir(mode=0o700, exist_ok=True)
    authority_key = _new_key()
    authority = _sign("kreplica sandbox authority", authority_key, authority_key, None)
    _write(folder / "ca.pem", _certificate_pem(authority))
    for name, file in (("localhost", "server.pem"), *((user, f"user-{user}.pem") for user in users)):
        key = _new_key()
        certificate = _sign(name, key, authority_key, authority)
        _write(folder / file, _key_pem(key) + _certificate_pem(certificate) + _certificate_pem(authority))


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _sign(
    name: str,
    key: EllipticCurvePrivateKey,
    signer: EllipticCurvePrivateKey,
    authority: Certificate | None,
) -> Certificate:
    """Return a certificate of ``name``; an authority's own when ``authority`` is None."""
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.x509.oid import NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.subject if authority else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=VALID_DAYS))
    )
    for extension in _extensions(key, signer, is_authority=authority is None):
        builder = builder.add_extension(extension.value, extension.critical)
    return builder.sign(signer, SHA256())


def _extensions(
    key: EllipticCurvePrivateKey, signer: EllipticCurvePrivateKey, is_authority: bool
) -> list[Extension[ExtensionType]]:
    from cryptography import x509

    values: list[tuple[ExtensionType, bool]] = [
        (x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None), True),
        (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), False),
        (_key_usage(is_authority), True),
    ]
    if not is_authority:
        names = [x509.DNSName("localhost"), x509.IPAddress(ip_address(LOOPBACK))]
        values.append((x509.SubjectAlternativeName(names), False))
    return [x509.Extension(value.oid, critical, value) for value, critical in values]


def _key_usage(is_authority: bool) -> ExtensionType:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not is_authority,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _certificate_pem(certificate: Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _key_pem(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _write(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
