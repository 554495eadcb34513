"""Trust stores and key stores of Java client properties, read into PEM without Java.

A store's format is recognized by its content, as by Java's dual-format JKS key store, regardless of ``ssl.*.type``:

    -----BEGIN ...    PEM: certificates, and in a key store the private key
    30 82 ...         PKCS#12 (a DER sequence), opened with the store's password
    FE ED FE ED       JKS, Java's own; its password may be absent, and then it is not checked

Java's own key store format, JKS, read without Java.

    FE ED FE ED  int version (1, 2)  int count      big-endian
    entry        int tag  UTF alias  long created
      tag 1      int length, key  int count of the chain, certificates      a private key
      tag 2      certificate                                                a trusted certificate
    certificate  UTF type (version 2 only)  int length, DER
    end          SHA-1 of password, "Mighty Aphrodite" and all bytes before

A key is an EncryptedPrivateKeyInfo (PKCS#8) of Sun's own algorithm 1.3.6.1.4.1.42.2.17.1.1: salt (20), key XORed with
SHA-1(password, salt), SHA-1(password, that) ..., then SHA-1(password, key) (20). Passwords are UTF-16, big-endian.
As in sun.security.provider.JavaKeyStore a store opens without a password, and then is not checked.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import ssl
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.errors import ConfigurationError, os_reason
from kreplica.system.untrusted_files import read_whole

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates


MAGIC = bytes.fromhex("FEEDFEED")

_PRIVATE_KEY, _TRUSTED = 1, 2
_WHITENER = b"Mighty Aphrodite"
_DIGEST = 20
# DER of the algorithm's object identifier.
_SUN_KEY_PROTECTOR = bytes.fromhex("060A2B060104012A02110101")
_JKS_DER_SEQUENCE, _DER_OCTETS = 0x30, 0x04


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A private key, still encrypted, and its certificate chain.

    Args:
        alias: Its name.
        protected: EncryptedPrivateKeyInfo.
        chain: Certificates as DER, the key's own first.
    """

    alias: str
    protected: bytes = field(repr=False)
    chain: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class JavaKeyStore:
    """Content of a store: keys, and trusted certificates as DER."""

    keys: tuple[KeyEntry, ...]
    trusted: tuple[bytes, ...]


class WrongPasswordError(ValueError):
    """The password does not open the store or the key, or the bytes were changed."""


def read_jks(content: bytes, password: str | None) -> JavaKeyStore:
    """Reads a store.

    Args:
        content: The file.
        password: None leaves its integrity unchecked.

    Raises:
        WrongPasswordError: The checksum is another one.
        ValueError: It is no JKS store, or it is cut off; the message tells at which byte.
    """
    body, checksum = content[:-_DIGEST], content[-_DIGEST:]
    reader = _Reader(body)
    if reader.take(4) != MAGIC:
        raise ValueError("no JKS store")
    version, count = reader.integer(), reader.integer()
    if version not in (1, 2):
        raise ValueError(f"version {version} of JKS is not known")
    keys, trusted = [], []
    for _ in range(count):
        tag, alias, _created = reader.integer(), reader.text(), reader.take(8)
        if tag == _PRIVATE_KEY:
            protected = reader.take(reader.integer())
            keys.append(KeyEntry(alias, protected, tuple(reader.certificate(version) for _ in range(reader.integer()))))
        elif tag == _TRUSTED:
            trusted.append(reader.certificate(version))
        else:
            raise ValueError(f"byte {reader.position}: entry of kind {tag} in a JKS store")
    if reader.position != len(body):
        raise ValueError(f"byte {reader.position}: more bytes than entries")
    if password is not None and not hmac.compare_digest(_sha1(_utf16(password), _WHITENER, body), checksum):
        raise WrongPasswordError("the password does not open the store")
    return JavaKeyStore(tuple(keys), tuple(trusted))


def unprotect(entry: KeyEntry, password: str) -> bytes:
    """The private key as PKCS#8 DER.

    Raises:
        WrongPasswordError: The password is another one.
        ValueError: It is protected otherwise than keytool does.
    """
    protected = _octets(entry.protected)
    salt, hidden, check = protected[:_DIGEST], protected[_DIGEST:-_DIGEST], protected[-_DIGEST:]
    secret, stream, block = _utf16(password), b"", salt
    while len(stream) < len(hidden):
        block = _sha1(secret, block)
        stream += block
    key = bytes(one ^ other for one, other in zip(hidden, stream, strict=False))
    if not hmac.compare_digest(_sha1(secret, key), check):
        raise WrongPasswordError("the password does not open the key")
    return key


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self.position = 0

    def take(self, size: int) -> bytes:
        end = self.position + size
        if size < 0 or end > len(self._content):
            raise ValueError(f"byte {self.position}: expected {size} bytes, found {len(self._content) - self.position}")
        found, self.position = self._content[self.position : end], end
        return found

    def integer(self) -> int:
        return int(struct.unpack(">I", self.take(4))[0])

    def text(self) -> str:
        (size,) = struct.unpack(">H", self.take(2))
        return self.take(size).decode("utf-8", "replace")

    def certificate(self, version: int) -> bytes:
        kind = self.text() if version == 2 else "X.509"
        if kind not in ("X.509", "X509"):
            raise ValueError(f"byte {self.position}: a certificate of kind {kind!r}")
        return self.take(self.integer())


def _octets(info: bytes) -> bytes:
    """The encrypted data of an EncryptedPrivateKeyInfo: SEQUENCE { SEQUENCE { OID, ... }, OCTET STRING }."""
    content, rest = _der(info, _JKS_DER_SEQUENCE)
    algorithm, content = _der(content, _JKS_DER_SEQUENCE)
    octets, more = _der(content, _DER_OCTETS)
    if not algorithm.startswith(_SUN_KEY_PROTECTOR) or rest or more or len(octets) < 2 * _DIGEST:
        raise ValueError("the key is protected by an algorithm that JKS stores do not have")
    return octets


def _der(content: bytes, tag: int) -> tuple[bytes, bytes]:
    """Contents of the first element, which has this tag, and what follows it."""
    reader = _Reader(content)
    if reader.take(1)[0] != tag:
        raise ValueError("the key is no EncryptedPrivateKeyInfo")
    size = reader.take(1)[0]
    if size & 0x80:
        size = int.from_bytes(reader.take(size & 0x7F), "big")
    return reader.take(size), content[reader.position :]


def _sha1(*parts: bytes) -> bytes:
    # Not for security: it is how the format is defined.
    return hashlib.sha1(b"".join(parts), usedforsecurity=False).digest()


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be")


_PEM_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)
_CERTIFICATE = "CERTIFICATE"
_KEY_PASSWORD = "ssl.key.password"
_DER_SEQUENCE = 0x30


@dataclass(frozen=True, slots=True)
class TlsMaterial:
    """Certificates and key for TLS, each as PEM text or None.

    Args:
        trusted: Certificates of the authorities that are trusted; None for the system's.
        certificate_chain: The client's certificate and those of its signers.
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
        days: Days before expiry from which a certificate is reported.
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
        raise ConfigurationError(f"cannot read {what}", os_reason(error)) from None


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

    try:
        return read_jks(content, password)
    except WrongPasswordError:
        raise _damaged(what) from None
    except ValueError as error:
        raise ConfigurationError(f"cannot read {what}", f"damaged: {error}") from None


def _damaged(what: str) -> ConfigurationError:
    key = what.partition(" ")[0].replace("location", "password")
    return ConfigurationError(f"cannot open {what}", f"it is damaged, or {key} is missing or wrong")
