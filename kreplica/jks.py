"""Java's own key store format, JKS, read without Java.

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
import struct
from dataclasses import dataclass, field

MAGIC = bytes.fromhex("FEEDFEED")

_PRIVATE_KEY, _TRUSTED = 1, 2
_WHITENER = b"Mighty Aphrodite"
_DIGEST = 20
# DER of the algorithm's object identifier.
_SUN_KEY_PROTECTOR = bytes.fromhex("060A2B060104012A02110101")
_DER_SEQUENCE, _DER_OCTETS = 0x30, 0x04


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A private key, still protected, and its certificate with what it was signed with.

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
    """What a store holds: keys, and trusted certificates as DER."""

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
    content, rest = _der(info, _DER_SEQUENCE)
    algorithm, content = _der(content, _DER_SEQUENCE)
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
