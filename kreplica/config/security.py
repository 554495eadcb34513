"""SASL and TLS of Java client properties, translated for librdkafka and kafka-python.

Key stores are read into PEM once (kreplica/config/key_stores.py) and both libraries get the same certificates and key.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.errors import ConfigurationError, os_reason
from kreplica.model.wording.nearest_names import nearest_names
from kreplica.system.redaction import remember_secret
from kreplica.system.untrusted_files import read_whole

if TYPE_CHECKING:
    import ssl

    from kreplica.config.key_stores import TlsMaterial

PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = (*PASSWORD_MECHANISMS, "GSSAPI", "OAUTHBEARER", "AWS_MSK_IAM")

_JAAS_TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([=;])|([^\s=;"]+))', re.DOTALL)
_JAAS_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PROTOCOLS = "ssl.enabled.protocols"
_OLD_VERSIONS = ("SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1")
_USED_VERSIONS = ("TLSv1.2", "TLSv1.3")
_STORES = ("ssl.truststore.", "ssl.keystore.")
_CLEAR_MECHANISMS = ("PLAIN", "OAUTHBEARER")
IDENTIFICATION = "ssl.endpoint.identification.algorithm"
ZOOKEEPER_TLS, ZOOKEEPER_TLS_PREFIX = "zookeeper.ssl.client.enable", "zookeeper.ssl."
_CREDENTIALS = "sasl.oauthbearer.client.credentials"
TOKEN_SECONDS = 60.0
"""Seconds after which librdkafka asks for the token again."""

_UNSECURED_CLAIM = "unsecuredLoginStringClaim_sub"


@dataclass(frozen=True, slots=True)
class LoginModule:
    """One entry of sasl.jaas.config: ``ClassName flag key=value ...;``."""

    class_name: str
    options: Mapping[str, str] = field(repr=False)


def parse_jaas(text: str) -> LoginModule:
    """Reads sasl.jaas.config as Kafka's JaasConfig does: quoted values with escapes, one entry, a closing ``;``.

    Raises:
        ConfigurationError: The text is malformed; it is not quoted, because it holds the password.
    """
    words = _jaas_words(text)
    if len(words) < 3 or words[-1] != ";":
        raise _jaas_error("expected `LoginModule required key=value ...;`")
    if words[1].lower() not in ("required", "requisite", "sufficient", "optional"):
        raise _jaas_error("the second word is no control flag such as `required`")
    pairs = words[2:-1]
    if len(pairs) % 3 or any(mark != "=" for mark in pairs[1::3]):
        raise _jaas_error("an option is not of the form key=value")
    return LoginModule(words[0], dict(zip(pairs[0::3], pairs[2::3], strict=True)))


def translate_sasl(
    properties: Mapping[str, str], librdkafka: dict[str, object], kafka_python: dict[str, object]
) -> None:
    """Adds the SASL settings of both libraries.

    Raises:
        ConfigurationError: The mechanism is not known here, or its part of sasl.jaas.config is missing.
    """
    mechanism = properties.get("sasl.mechanism", "GSSAPI").strip()
    if mechanism not in MECHANISMS:
        raise ConfigurationError("sasl.mechanism is not known here", f"expected one of {', '.join(MECHANISMS)}")
    librdkafka["sasl.mechanism"] = mechanism
    kafka_python["sasl_mechanism"] = mechanism
    if mechanism in PASSWORD_MECHANISMS:
        module = _login_module(properties, mechanism)
        user, password = _option(module, "username"), _option(module, "password")
        librdkafka.update({"sasl.username": user, "sasl.password": password})
        kafka_python.update({"sasl_plain_username": user, "sasl_plain_password": password})
    elif mechanism == "OAUTHBEARER":
        _translate_oauth(properties, librdkafka, kafka_python)


def translate_tls(properties: Mapping[str, str], librdkafka: dict[str, object], kafka_python: dict[str, object]) -> str:
    """Adds the TLS settings of both libraries; reads trust store and key store.

    Returns:
        Why librdkafka cannot keep to them; empty if it can.

    Raises:
        ConfigurationError: A store cannot be read, or a value is none that Kafka's clients take.
    """
    from kreplica.config.key_stores import certificate_subject, read_tls_material

    material = read_tls_material(properties)
    checks_name = checks_host_names(properties)
    versions = _enabled_versions(properties.get(_PROTOCOLS, ""))
    librdkafka["ssl.endpoint.identification.algorithm"] = "https" if checks_name else "none"
    if material.trusted:
        librdkafka["ssl.ca.pem"] = material.trusted
    kafka_python["ssl_has_certificate"] = material.certificate_chain is not None
    kafka_python["ssl_subject"] = certificate_subject(material.certificate_chain)
    if material.certificate_chain:
        librdkafka["ssl.certificate.pem"] = material.certificate_chain
        librdkafka["ssl.key.pem"] = material.private_key
    kafka_python["ssl_context"] = _ssl_context(material, checks_name, versions)
    if versions == _USED_VERSIONS:
        return ""
    return f"which has no setting for {_PROTOCOLS}: leave it out, or name {' and '.join(_USED_VERSIONS)}"


def checks_host_names(properties: Mapping[str, str]) -> bool:
    """True if a server's certificate has to match the host's name: always, unless that is switched off.

    Java's trust manager knows HTTPS and LDAPS and refuses every connection with another value (sun.security.ssl,
    X509TrustManagerImpl.checkIdentity); LDAPS compares names by other rules and is not known here.

    Raises:
        ConfigurationError: The algorithm is neither https nor empty.
    """
    algorithm = properties.get(IDENTIFICATION, "https").strip()
    if algorithm.lower() not in ("https", ""):
        raise ConfigurationError(
            f"{IDENTIFICATION} is {algorithm!r}",
            "that is no algorithm known here",
            "https checks host names, an empty value switches the check off"
            + (": did you mean https?" if nearest_names(algorithm.lower(), ("https",)) else ""),
        )
    return bool(algorithm)


def check_credentials_encrypted(properties: Mapping[str, str]) -> None:
    """Refuses to send a password or a token in clear where the properties set up TLS that is not used.

    Raises:
        ConfigurationError: security.protocol is SASL_PLAINTEXT, with TLS properties and a mechanism that hides nothing.
    """
    mechanism = properties.get("sasl.mechanism", "GSSAPI").strip()
    unused = _tls_properties(properties)
    if _protocol(properties) == "SASL_PLAINTEXT" and mechanism in _CLEAR_MECHANISMS and unused:
        what = "token" if mechanism == "OAUTHBEARER" else "password"
        raise ConfigurationError(
            f"security.protocol SASL_PLAINTEXT would send the {what} in clear",
            f"{unused[0]} says that TLS is meant",
            "security.protocol=SASL_SSL, or leave the ssl properties out",
        )


def security_warnings(properties: Mapping[str, str], *, by_zookeeper: bool = False) -> tuple[str, ...]:
    """One clause for each protection that is switched off, or is set up and not used.

    Args:
        properties: Client properties, references looked up; no value is shown.
        by_zookeeper: Whether ZooKeeper is asked instead of brokers.
    """
    if by_zookeeper:
        own = zookeeper_tls_properties(properties)
        enabled = properties.get(ZOOKEEPER_TLS, "false").strip().lower() == "true"
        told = _name_check_off(own, "ZooKeeper servers", ZOOKEEPER_TLS_PREFIX) if enabled else []
        unused = [] if enabled else _tls_properties(own)
        return (*told, *(_unused(f"zookeeper.{unused[0]}", f"{ZOOKEEPER_TLS} is not true") for _ in unused[:1]))
    protocol = _protocol(properties)
    told = _name_check_off(properties, "brokers", "ssl.") if "SSL" in protocol else []
    why = f"security.protocol is {protocol}" + ("" if "security.protocol" in properties else " where it is not given")
    unused = [] if "SSL" in protocol else _tls_properties(properties)[:1]
    logins = [key for key in ("sasl.mechanism", "sasl.jaas.config") if properties.get(key, "").strip()]
    unused += [] if protocol.startswith("SASL") else logins[:1]
    return (*told, *(_unused(key, why) for key in unused))


def zookeeper_tls_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties of TLS to ZooKeeper by the names that those of TLS to brokers have."""
    return {
        f"ssl.{key.removeprefix(ZOOKEEPER_TLS_PREFIX)}": value
        for key, value in properties.items()
        if key.startswith(ZOOKEEPER_TLS_PREFIX)
    }


def _protocol(properties: Mapping[str, str]) -> str:
    return properties.get("security.protocol", "PLAINTEXT").strip().upper()


def _tls_properties(properties: Mapping[str, str]) -> list[str]:
    return [key for key, value in properties.items() if key.startswith(_STORES) and value.strip()]


def _name_check_off(properties: Mapping[str, str], servers: str, prefix: str) -> list[str]:
    if properties.get(IDENTIFICATION, "https").strip():
        return []
    key = prefix + IDENTIFICATION.removeprefix("ssl.")
    return [
        f"{key} is empty: host names of {servers} are not checked, whoever has a trusted certificate can pose as one"
    ]


def _unused(key: str, why: str) -> str:
    kind = "TLS" if ".ssl." in f".{key}" else "login"
    return f"client property {key} has no effect: {why}, the connection is without {kind}"


def _enabled_versions(protocols: str) -> tuple[str, ...]:
    """The versions of TLS to use; none older than 1.2 is used, even if configured."""
    names = [name.strip() for name in protocols.split(",") if name.strip()]
    for name in names:
        if name not in (*_OLD_VERSIONS, *_USED_VERSIONS):
            known = ", ".join(_USED_VERSIONS)
            raise ConfigurationError(f"{_PROTOCOLS} cannot be used", f"{name!r} is no version of TLS", f"use {known}")
    used = tuple(name for name in _USED_VERSIONS if name in names or not names)
    if not used:
        raise ConfigurationError(f"{_PROTOCOLS} cannot be used", "older versions than TLSv1.2 are not used here")
    return used


def _ssl_context(material: TlsMaterial, checks_name: bool, versions: tuple[str, ...]) -> ssl.SSLContext:
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = checks_name
    known = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
    context.minimum_version, context.maximum_version = known[versions[0]], known[versions[-1]]
    try:
        if material.trusted:
            context.load_verify_locations(cadata=material.trusted)
        else:
            context.load_default_certs()
        if material.certificate_chain:
            _load_client_certificate(context, material)
    except ssl.SSLError as error:
        reason = (error.reason or str(error)).lower().replace("_", " ")
        raise ConfigurationError("the TLS certificates cannot be used", reason) from None
    return context


def _load_client_certificate(context: ssl.SSLContext, material: TlsMaterial) -> None:
    # Python's ssl takes a client certificate only from a file: one that nobody else may read, gone at once.
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".pem", encoding="ascii") as file:
        file.write(f"{material.private_key}\n{material.certificate_chain}\n")
        file.flush()
        context.load_cert_chain(file.name)


def _translate_oauth(
    properties: Mapping[str, str], librdkafka: dict[str, object], kafka_python: dict[str, object]
) -> None:
    endpoint = properties.get("sasl.oauthbearer.token.endpoint.url", "").strip()
    if endpoint.startswith("file:"):
        _translate_token_file(endpoint, librdkafka, kafka_python)
        return
    options = dict(_login_module(properties, "OAUTHBEARER").options)
    if endpoint:
        _translate_endpoint(endpoint, properties, options, kafka_python)
    elif _UNSECURED_CLAIM in options:
        subject = options[_UNSECURED_CLAIM]
        librdkafka["enable.sasl.oauthbearer.unsecure.jwt"] = True
        librdkafka["sasl.oauthbearer.config"] = f"principal={subject}"
        kafka_python["sasl_oauth_unsecured_subject"] = subject
    else:
        raise ConfigurationError(
            "OAUTHBEARER cannot get a token",
            "sasl.oauthbearer.token.endpoint.url is missing",
            f"or, for tests, {_UNSECURED_CLAIM} in sasl.jaas.config",
        )


def _translate_endpoint(
    endpoint: str,
    properties: Mapping[str, str],
    options: Mapping[str, str],
    kafka_python: dict[str, object],
) -> None:
    # Since Kafka 4.1 the credentials are properties (KIP-1139); before they were options of sasl.jaas.config.
    client = properties.get(f"{_CREDENTIALS}.client.id") or options.get("clientId")
    secret = properties.get(f"{_CREDENTIALS}.client.secret") or options.get("clientSecret")
    scope = properties.get("sasl.oauthbearer.scope") or options.get("scope", "")
    if not client or not secret:
        raise _jaas_error(f"{'clientId' if not client else 'clientSecret'} is missing")
    _check_endpoint(endpoint)
    kafka_python["sasl_oauth_oidc"] = {"endpoint": endpoint, "client": client, "secret": secret, "scope": scope}
    trusted = _trusted_by_login(options)
    if trusted:
        kafka_python["sasl_oauth_trusted"] = trusted


def _check_endpoint(endpoint: str) -> None:
    """Refuses to send the client's secret in clear to another machine, which Kafka's own client allows."""
    from ipaddress import ip_address
    from urllib.parse import parse_qsl, urlsplit

    what = "sasl.oauthbearer.token.endpoint.url cannot be used"
    try:
        url = urlsplit(endpoint)
        host, _ = url.hostname, url.port
    except ValueError:
        raise ConfigurationError(what, "it is no URL") from None
    if url.scheme not in ("http", "https") or not host:
        raise ConfigurationError(what, "expected https://HOST/PATH or file:///PATH")
    for secret in (url.password, *(value for _, value in parse_qsl(url.query))):
        remember_secret(secret or "")
    with contextlib.suppress(ValueError):
        if ip_address(host).is_loopback:
            return
    if url.scheme == "http" and host != "localhost":
        raise ConfigurationError(what, f"the client's secret would go in clear to {host}", "give an https endpoint")


def _trusted_by_login(options: Mapping[str, str]) -> str | None:
    # TLS to the endpoint has its own settings, as options of sasl.jaas.config (Kafka's JaasOptionsUtils).
    from kreplica.config.key_stores import read_tls_material

    return read_tls_material(
        {key: value for key, value in options.items() if key.startswith("ssl.truststore.")}
    ).trusted


def _translate_token_file(endpoint: str, librdkafka: dict[str, object], kafka_python: dict[str, object]) -> None:
    # As Kafka's FileJwtRetriever: a token that something else keeps fresh, a mounted service account for instance.
    from urllib.parse import unquote, urlsplit

    path = Path(unquote(urlsplit(endpoint).path))
    kafka_python["sasl_oauth_token"] = token_in_file(path)
    librdkafka["oauth_cb"] = lambda _: (token_in_file(path), time.time() + TOKEN_SECONDS)


def token_in_file(path: Path) -> str:
    """The token that a file holds.

    Raises:
        ConfigurationError: It cannot be read, or holds none.
    """
    what = "cannot use sasl.oauthbearer.token.endpoint.url"
    try:
        token = read_whole(path).decode("ascii").strip()
    except OSError as error:
        raise ConfigurationError(what, f"{path}: {os_reason(error)}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(what, f"{path} holds no token") from None
    if not token or len(token.split()) != 1:
        raise ConfigurationError(what, f"{path} holds no token")
    remember_secret(token)
    return token


def _login_module(properties: Mapping[str, str], mechanism: str) -> LoginModule:
    if "sasl.jaas.config" not in properties:
        raise ConfigurationError(
            "sasl.jaas.config is missing", f"{mechanism} takes its credentials from it", "put it into --command-config"
        )
    return parse_jaas(properties["sasl.jaas.config"])


def _option(module: LoginModule, name: str) -> str:
    if name not in module.options:
        raise _jaas_error(f"{name} is missing")
    return module.options[name]


def _jaas_words(text: str) -> list[str]:
    words, position = [], 0
    stripped = text.rstrip()
    while position < len(stripped):
        match = _JAAS_TOKEN.match(stripped, position)
        if match is None:
            raise _jaas_error("a quote is not closed")
        quoted, mark, word = match.groups()
        words.append(_JAAS_ESCAPE.sub(r"\1", quoted) if quoted is not None else mark or word)
        position = match.end()
    return words


def _jaas_error(reason: str) -> ConfigurationError:
    return ConfigurationError("sasl.jaas.config cannot be used", reason)
