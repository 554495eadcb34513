"""JKS stores as keytool writes them, opened without Java; damaged ones are told, never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate, load_pem_x509_certificates
from hypothesis import given
from hypothesis import strategies as st

from kreplica.config.key_stores import WrongPasswordError, read_jks, read_tls_material, unprotect
from kreplica.config.properties import translate
from kreplica.errors import ConfigurationError

STORES = Path(__file__).parents[2] / "golden" / "key-stores"
KEY, SAME, TRUST = (STORES / name for name in ("key.jks", "same-pass.jks", "trust.jks"))


def certificates(pem: str | None) -> set[bytes]:
    assert pem is not None
    return {one.public_bytes(Encoding.DER) for one in load_pem_x509_certificates(pem.encode())}


def told_by_keytool(name: str) -> bytes:
    return load_pem_x509_certificate((STORES / name).read_bytes()).public_bytes(Encoding.DER)


def test_a_key_opens_with_its_own_password() -> None:
    properties = {
        "ssl.keystore.location": str(KEY),
        "ssl.keystore.password": "store-pass",
        "ssl.key.password": "key-pass",
    }
    material = read_tls_material(properties)
    assert certificates(material.certificate_chain) == {told_by_keytool("key.pem")}
    assert material.private_key is not None
    public = load_pem_private_key(material.private_key.encode(), None).public_key()
    assert public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo) == (STORES / "key.pub.pem").read_bytes()


def test_the_password_of_the_store_is_the_keys_where_none_is_given() -> None:
    properties = {"ssl.keystore.location": str(SAME), "ssl.keystore.password": "pässword", "security.protocol": "SSL"}
    settings = translate(properties)
    assert settings.kafka_python["ssl_subject"] == "CN=golden-ec"
    assert certificates(str(settings.librdkafka["ssl.certificate.pem"])) == {told_by_keytool("ec.pem")}


@pytest.mark.parametrize("password", ["trust-pass", None])
def test_a_trust_store_opens_with_its_password_or_without_one(password: str | None) -> None:
    properties = {"ssl.truststore.location": str(TRUST)}
    if password is not None:
        properties["ssl.truststore.password"] = password
    found = certificates(read_tls_material(properties).trusted)
    assert found == {told_by_keytool("key.pem"), told_by_keytool("ec.pem")}


@pytest.mark.parametrize(
    ("properties", "told"),
    [
        (
            {"ssl.keystore.location": str(KEY), "ssl.keystore.password": "hush"},
            "ssl.keystore.password is missing or wrong",
        ),
        (
            {"ssl.keystore.location": str(KEY), "ssl.keystore.password": "store-pass"},
            "ssl.key.password does not open its private key",
        ),
        ({"ssl.keystore.location": str(TRUST)}, "it holds no private key"),
        (
            {"ssl.truststore.location": str(TRUST), "ssl.truststore.password": "hush"},
            "ssl.truststore.password is missing",
        ),
    ],
)
def test_what_does_not_open_is_told(properties: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_tls_material(properties)
    assert told in str(caught.value)
    assert "hush" not in str(caught.value)


def test_no_changed_byte_passes_the_checksum() -> None:
    content = TRUST.read_bytes()
    for position in range(0, len(content), 7):
        changed = content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]
        with pytest.raises(ValueError):  # noqa: PT011 - of either kind, never another one
            read_jks(changed, "trust-pass")


@given(st.integers(0, 2000))
def test_a_store_that_is_cut_off_is_told(size: int) -> None:
    content = KEY.read_bytes()
    with pytest.raises(ValueError):  # noqa: PT011
        read_jks(content[: min(size, len(content) - 1)], None)


@given(st.binary(max_size=60))
def test_no_key_of_noise_opens(noise: bytes) -> None:
    (entry,) = read_jks(KEY.read_bytes(), None).keys
    changed = type(entry)(entry.alias, noise, entry.chain)
    with pytest.raises(ValueError):  # noqa: PT011
        unprotect(changed, "key-pass")


def test_a_wrong_password_is_told_apart_from_damage() -> None:
    with pytest.raises(WrongPasswordError):
        read_jks(KEY.read_bytes(), "nope")
    with pytest.raises(ValueError, match="version 3 of JKS is not known"):
        read_jks(bytes.fromhex("FEEDFEED0000000300000000") + bytes(20), None)


def test_bytes_behind_the_entries_are_told() -> None:
    content = TRUST.read_bytes()
    with pytest.raises(ValueError, match="more bytes than entries"):
        read_jks(content[:-20] + b"x" + content[-20:], None)
