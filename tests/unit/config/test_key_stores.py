"""Trust stores and key stores of each format, read into PEM."""

from __future__ import annotations

import datetime
import ssl
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates as pkcs12

from kreplica.config.key_stores import TlsMaterial, expiring, read_tls_material
from kreplica.config.properties import translate
from kreplica.errors import ConfigurationError


@dataclass(frozen=True)
class Identity:
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def certificate_pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def key_pem(self, password: bytes | None = None) -> str:
        encryption = BestAvailableEncryption(password) if password else NoEncryption()
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()


@pytest.fixture(scope="module")
def identity() -> Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "kreplica test")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(7).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    return Identity(key, builder.sign(key, hashes.SHA256()))


def same_key(pem: str | None, identity: Identity) -> bool:
    assert pem is not None
    key = load_pem_private_key(pem.encode(), None)
    return key.public_key() == identity.key.public_key()


def test_pem_files(tmp_path: Path, identity: Identity) -> None:
    trust, store = tmp_path / "ca.pem", tmp_path / "client.pem"
    trust.write_text(f"a comment\n{identity.certificate_pem}")
    store.write_text(identity.key_pem() + identity.certificate_pem)
    material = read_tls_material({"ssl.truststore.location": str(trust), "ssl.keystore.location": str(store)})
    assert material.trusted == identity.certificate_pem.strip()
    assert material.certificate_chain == identity.certificate_pem.strip()
    assert same_key(material.private_key, identity)


def test_inline_pem(identity: Identity) -> None:
    material = read_tls_material(
        {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": identity.certificate_pem,
            "ssl.keystore.certificate.chain": identity.certificate_pem,
            "ssl.keystore.key": identity.key_pem(b"opens"),
            "ssl.key.password": "opens",
        }
    )
    assert material.trusted == identity.certificate_pem.strip()
    assert same_key(material.private_key, identity)


def test_pkcs12_stores(tmp_path: Path, identity: Identity) -> None:
    trust, store = tmp_path / "trust.p12", tmp_path / "client.p12"
    entry = PKCS12Certificate(identity.certificate, b"ca")
    trust.write_bytes(serialize_java_truststore([entry], BestAvailableEncryption(b"opens")))
    store.write_bytes(pkcs12(b"me", identity.key, identity.certificate, None, BestAvailableEncryption(b"opens")))
    properties = {
        "ssl.truststore.location": str(trust),
        "ssl.truststore.password": "opens",
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": "opens",
    }
    material = read_tls_material(properties)
    assert material.trusted == identity.certificate_pem
    assert material.certificate_chain == identity.certificate_pem
    assert same_key(material.private_key, identity)

    settings = translate(properties | {"security.protocol": "SSL"})
    context = settings.kafka_python["ssl_context"]
    assert isinstance(context, ssl.SSLContext)
    assert context.cert_store_stats()["x509"] == 1
    assert settings.librdkafka["ssl.ca.pem"] == identity.certificate_pem
    assert same_key(str(settings.librdkafka["ssl.key.pem"]), identity)


def test_no_store_means_the_systems_authorities() -> None:
    material = read_tls_material({})
    assert (material.trusted, material.certificate_chain, material.private_key) == (None, None, None)


def test_unusable_stores_are_told_without_passwords(tmp_path: Path, identity: Identity) -> None:
    jks, text, encrypted, store = (tmp_path / name for name in ("a.jks", "a.pem", "key.pem", "a.p12"))
    jks.write_bytes(bytes.fromhex("FEEDFEED0000000200000000") + bytes(20))
    text.write_text("no certificate here")
    encrypted.write_text(identity.key_pem(b"opens") + identity.certificate_pem)
    store.write_bytes(pkcs12(b"me", identity.key, identity.certificate, None, BestAvailableEncryption(b"opens")))
    cases = [
        ({"ssl.truststore.location": str(jks)}, "it holds no certificate"),
        ({"ssl.keystore.location": str(jks)}, "it holds no private key with its certificate"),
        ({"ssl.truststore.location": str(text)}, "it holds no PEM certificate and is no PKCS#12 store"),
        ({"ssl.truststore.location": str(tmp_path / "none")}, "no such file"),
        (
            {"ssl.truststore.location": str(store), "ssl.truststore.password": "hush"},
            "ssl.truststore.password is missing or wrong",
        ),
        ({"ssl.keystore.location": str(store)}, "ssl.keystore.password is missing or wrong"),
        ({"ssl.keystore.location": str(encrypted)}, "its private key is encrypted; give ssl.key.password"),
        ({"ssl.keystore.location": str(encrypted), "ssl.key.password": "hush"}, "ssl.key.password does not open"),
        ({"ssl.keystore.certificate.chain": identity.certificate_pem}, "ssl.keystore.key; it holds no PEM private key"),
    ]
    for properties, told in cases:
        with pytest.raises(ConfigurationError) as caught:
            read_tls_material(properties)
        assert told in str(caught.value)
        assert "hush" not in str(caught.value)


def test_certificates_that_end_are_told(identity: Identity) -> None:
    def clauses(begins: float, ends: float) -> tuple[str, ...]:
        now = datetime.datetime.now(datetime.UTC)
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "c")])
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(identity.key.public_key())
        builder = builder.serial_number(7).not_valid_before(now + datetime.timedelta(days=begins))
        made = builder.not_valid_after(now + datetime.timedelta(days=ends)).sign(identity.key, hashes.SHA256())
        return expiring(TlsMaterial(trusted=made.public_bytes(Encoding.PEM).decode()))

    assert clauses(-9, 31) == ()
    assert clauses(-9, -1)[0].startswith("certificate CN=c expired at 20")
    assert clauses(-9, 29)[0].startswith("certificate CN=c expires at 20")
    assert clauses(2, 40)[0].startswith("certificate CN=c is valid from 20")


def test_a_certificate_that_does_not_fit_its_key_is_told(tmp_path: Path, identity: Identity) -> None:
    other = Identity(ec.generate_private_key(ec.SECP256R1()), identity.certificate)
    store = tmp_path / "client.pem"
    store.write_text(other.key_pem() + other.certificate_pem)
    with pytest.raises(ConfigurationError, match="the TLS certificates cannot be used; key values mismatch"):
        translate({"security.protocol": "SSL", "ssl.keystore.location": str(store)})
