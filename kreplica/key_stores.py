"""Trust stores and key stores of Java client properties, read into PEM without Java.

A store's format is told by its content, as Java's dual-format JKS key store does, whatever ``ssl.*.type`` says:

    -----BEGIN ...    PEM: certificates, and in a key store the private key
    30 82 ...         PKCS#12 (a DER sequence), opened with the store's password
    FE ED FE ED       JKS, Java's own (kreplica/jks.py); its password may be absent, and then it is not checked
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.errors import ConfigurationError
from kreplica.jks import MAGIC
from kreplica.untrusted_files import read_whole

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

    from kreplica.jks import JavaKeyStore

_PEM_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)
_CERTIFICATE = "CERTIFICATE"
_KEY_PASSWORD = "ssl.key.password"
_DER_SEQUENCE = 0x30


@dataclass(frozen=True, slots=True)
class TlsMaterial:
    """What TLS needs, each as PEM text or None.

    Args:
        trusted: Certificates of the authorities that are trusted; None for the system's.
        certificate_chain: The client's certificate and what it was signed with.
        private_key: The client's key, not encrypted.
    """

    trusted: str | None = None
    certificate_chain: str | None = None
    private_key: str | None = field(default=None, repr=False)


def read_tls_material(properties: Mapping[str, str]) -> TlsMaterial:
    """Reads the trust store and the key store that client properties name or carry.

    Raises:
        ConfigurationError: A store cannot be read; names the property and the file, no password.
    """
    chain, key = _key_pair(properties)
    return TlsMaterial(_trusted(properties), chain, key)


def certificate_subject(chain: str | None) -> str | None:
    """The distinguished name of the first certificate in PEM, as brokers take it for the principal (RFC 2253)."""
    from cryptography.x509 import load_pem_x509_certificate

    return None if chain is None else load_pem_x509_certificate(chain.encode()).subject.rfc4514_string()


def expiring(material: TlsMaterial, days: int = 30) -> tuple[str, ...]:
    """One clause for each certificate that has expired or is about to, and for one that is not valid yet.

    Args:
        material: What TLS uses.
        days: How near the end is worth a word.
    """
    from cryptography.x509 import load_pem_x509_certificates

    now = datetime.now(UTC)
    clauses = []
    for text in filter(None, (material.certificate_chain, material.trusted)):
        for certificate in load_pem_x509_certificates(text.encode()):
            name, ends = certificate.subject.rfc4514_string(), certificate.not_valid_after_utc
            if ends <= now:
                clauses.append(f"certificate {name} expired at {ends:%Y-%m-%d %H:%M} UTC")
            elif ends - now < timedelta(days=days):
                clauses.append(f"certificate {name} expires at {ends:%Y-%m-%d %H:%M} UTC")
            elif certificate.not_valid_before_utc > now:
                clauses.append(
                    f"certificate {name} is valid from {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC on"
                )
    return tuple(dict.fromkeys(clauses))


def _trusted(properties: Mapping[str, str]) -> str | None:
    if "ssl.truststore.certificates" in properties:
        inline = properties["ssl.truststore.certificates"].encode()
        return "\n".join(_certificates(inline, "ssl.truststore.certificates"))
    location = properties.get("ssl.truststore.location")
    if not location:
        return None
    what = f"ssl.truststore.location {location}"
    content = _read_store(location, what)
    if content.startswith(MAGIC):
        return "".join(_jks_certificates(content, properties.get("ssl.truststore.password"), what))
    if content[:1] == bytes([_DER_SEQUENCE]):
        return "\n".join(_pkcs12_certificates(content, properties.get("ssl.truststore.password"), what))
    return "\n".join(_certificates(content, what))


def _key_pair(properties: Mapping[str, str]) -> tuple[str | None, str | None]:
    key_password = properties.get("ssl.key.password")
    if "ssl.keystore.key" in properties or "ssl.keystore.certificate.chain" in properties:
        chain = _certificates(
            properties.get("ssl.keystore.certificate.chain", "").encode(), "ssl.keystore.certificate.chain"
        )
        return "\n".join(chain), _private_key(
            properties.get("ssl.keystore.key", "").encode(), key_password, "ssl.keystore.key"
        )
    location = properties.get("ssl.keystore.location")
    if not location:
        return None, None
    what = f"ssl.keystore.location {location}"
    content = _read_store(location, what)
    if content.startswith(MAGIC):
        return _jks_key_pair(content, properties.get("ssl.keystore.password"), key_password, what)
    if content[:1] == bytes([_DER_SEQUENCE]):
        return _pkcs12_key_pair(content, properties.get("ssl.keystore.password"), what)
    return "\n".join(_certificates(content, what)), _private_key(content, key_password, what)


def _read_store(location: str, what: str) -> bytes:
    try:
        return read_whole(Path(location).expanduser())
    except OSError as error:
        raise ConfigurationError(f"cannot read {what}", error.strerror or str(error)) from None


def _blocks(content: bytes) -> list[tuple[str, str]]:
    text = content.decode("ascii", "replace")
    return [(match.group(1), match.group()) for match in _PEM_BLOCK.finditer(text)]


def _certificates(content: bytes, what: str) -> list[str]:
    found = [block for label, block in _blocks(content) if label == _CERTIFICATE]
    if not found:
        raise ConfigurationError(f"cannot use {what}", "it holds no PEM certificate and is no PKCS#12 store")
    return found


def _private_key(content: bytes, password: str | None, what: str) -> str:
    keys = [(label, block) for label, block in _blocks(content) if label.endswith("PRIVATE KEY")]
    if not keys:
        raise ConfigurationError(f"cannot use {what}", "it holds no PEM private key")
    label, block = keys[0]
    if label.startswith("ENCRYPTED") or "Proc-Type: 4,ENCRYPTED" in block:
        return _decrypted(block, password, what)
    return block


def _decrypted(block: str, password: str | None, what: str) -> str:
    from cryptography.hazmat.primitives import serialization

    if password is None:
        raise ConfigurationError(f"cannot use {what}", "its private key is encrypted", "give ssl.key.password")
    try:
        key = serialization.load_pem_private_key(block.encode(), password.encode())
    except ValueError:
        raise ConfigurationError(f"cannot open {what}", "ssl.key.password does not open its private key") from None
    return _key_pem(key)


def _pkcs12_certificates(content: bytes, password: str | None, what: str) -> list[str]:
    from cryptography.hazmat.primitives.serialization import Encoding

    store = _open_pkcs12(content, password, what)
    every = [store.cert, *store.additional_certs]
    found = [one.certificate.public_bytes(Encoding.PEM).decode() for one in every if one is not None]
    if not found:
        raise ConfigurationError(f"cannot use {what}", "it holds no certificate")
    return found


def _pkcs12_key_pair(content: bytes, password: str | None, what: str) -> tuple[str, str]:
    store = _open_pkcs12(content, password, what)
    if store.key is None or store.cert is None:
        raise ConfigurationError(f"cannot use {what}", "it holds no private key with its certificate")
    return "\n".join(_pkcs12_certificates(content, password, what)), _key_pem(store.key)


def _open_pkcs12(content: bytes, password: str | None, what: str) -> PKCS12KeyAndCertificates:
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    try:
        return load_pkcs12(content, password.encode() if password else None)
    except ValueError:
        raise _damaged(what) from None


def _key_pem(key: PrivateKeyTypes) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _jks_certificates(content: bytes, password: str | None, what: str) -> list[str]:
    store = _open_jks(content, password, what)
    found = [*store.trusted, *(certificate for entry in store.keys for certificate in entry.chain)]
    if not found:
        raise ConfigurationError(f"cannot use {what}", "it holds no certificate")
    return [ssl.DER_cert_to_PEM_cert(certificate) for certificate in found]


def _jks_key_pair(content: bytes, password: str | None, key_password: str | None, what: str) -> tuple[str, str]:
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    from kreplica.jks import WrongPasswordError, unprotect

    store = _open_jks(content, password, what)
    if not store.keys:
        raise ConfigurationError(f"cannot use {what}", "it holds no private key with its certificate")
    entry = store.keys[0]
    try:
        key = unprotect(entry, key_password or password or "")
    except WrongPasswordError:
        raise ConfigurationError(f"cannot open {what}", f"{_KEY_PASSWORD} does not open its private key") from None
    except ValueError as error:
        raise ConfigurationError(f"cannot use {what}", str(error)) from None
    chain = "".join(ssl.DER_cert_to_PEM_cert(certificate) for certificate in entry.chain)
    return chain, _key_pem(load_der_private_key(key, None))


def _open_jks(content: bytes, password: str | None, what: str) -> JavaKeyStore:
    from kreplica.jks import WrongPasswordError, read_jks

    try:
        return read_jks(content, password)
    except WrongPasswordError:
        raise _damaged(what) from None
    except ValueError as error:
        raise ConfigurationError(f"cannot read {what}", f"damaged: {error}") from None


def _damaged(what: str) -> ConfigurationError:
    key = what.partition(" ")[0].replace("location", "password")
    return ConfigurationError(f"cannot open {what}", f"it is damaged, or {key} is missing or wrong")
