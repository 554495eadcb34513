"""Java client properties, as ``--command-config`` takes them, translated once for both client libraries.

    properties text --parse_properties--> {key: value} --translate--> ClientSettings
                                                                       ├── librdkafka     settings of confluent-kafka
                                                                       └── kafka_python   settings of kafka-python

PLAIN_SETTINGS is the one table of keys that map to one setting on each side; SASL and TLS, where several keys make one
setting, have a function each (kreplica/config/security.py). A key that is neither translated nor known to be harmless
here gives a warning; no key is fatal because it is unknown, and no value of a key stands in a message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kreplica.errors import ConfigurationError
from kreplica.model.wording.nearest_names import nearest_names

PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL = SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
DEFAULT_CLIENT_ID = "kreplica"


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """One set of client properties under the names of both libraries; secrets are left out of repr.

    Args:
        librdkafka: Settings for confluent-kafka, ``bootstrap.servers`` not among them.
        kafka_python: Settings by kafka-python's names; ``ssl_context`` is an ssl.SSLContext where TLS is used.
        warnings: One clause for each property that has no effect.
        librdkafka_lacks: Why librdkafka cannot be used with them; empty if it can.
    """

    librdkafka: Mapping[str, object] = field(repr=False)
    kafka_python: Mapping[str, object] = field(repr=False)
    warnings: tuple[str, ...] = ()
    librdkafka_lacks: str = ""


@dataclass(frozen=True, slots=True)
class PlainSetting:
    """A property that is one setting on each side.

    Args:
        librdkafka: Its name there, or None where that library needs nothing.
        kafka_python: Its name there, or None.
        convert: Text to value; raises ValueError.
    """

    librdkafka: str | None
    kafka_python: str | None
    convert: Callable[[str], object] = str


PLAIN_SETTINGS: Mapping[str, PlainSetting] = {
    "client.id": PlainSetting("client.id", "client_id"),
    "client.dns.lookup": PlainSetting("client.dns.lookup", None),
    "connections.max.idle.ms": PlainSetting("connections.max.idle.ms", None, int),
    "metadata.max.age.ms": PlainSetting("metadata.max.age.ms", "metadata_max_age_ms", int),
    "receive.buffer.bytes": PlainSetting("socket.receive.buffer.bytes", "receive_buffer_bytes", int),
    "reconnect.backoff.max.ms": PlainSetting("reconnect.backoff.max.ms", "reconnect_backoff_max_ms", int),
    "reconnect.backoff.ms": PlainSetting("reconnect.backoff.ms", "reconnect_backoff_ms", int),
    "request.timeout.ms": PlainSetting("socket.timeout.ms", "request_timeout_ms", int),
    "retry.backoff.ms": PlainSetting("retry.backoff.ms", "retry_backoff_ms", int),
    "sasl.kerberos.service.name": PlainSetting("sasl.kerberos.service.name", "sasl_kerberos_service_name"),
    "send.buffer.bytes": PlainSetting("socket.send.buffer.bytes", "send_buffer_bytes", int),
    "socket.connection.setup.timeout.ms": PlainSetting(
        "socket.connection.setup.timeout.ms", "socket_connection_setup_timeout_ms", int
    ),
}
"""Properties that are one setting on each side; -1 for a buffer means the system's own and is left out."""

SECURITY_KEYS = frozenset(
    {
        "security.protocol",
        "sasl.mechanism",
        "sasl.jaas.config",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.scope",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
"""Properties that kreplica/config/security.py translates."""

_HARMLESS = """
    acks allow.auto.create.topics auto.commit.interval.ms auto.include.jmx.reporter auto.offset.reset batch.size
    bootstrap.controllers bootstrap.servers buffer.memory check.crcs client.rack compression.gzip.level
    compression.lz4.level compression.type compression.zstd.level default.api.timeout.ms
    delivery.timeout.ms enable.auto.commit enable.idempotence enable.metrics.push exclude.internal.topics
    fetch.max.bytes fetch.max.wait.ms fetch.min.bytes group.id group.instance.id group.protocol
    group.remote.assignor heartbeat.interval.ms interceptor.classes isolation.level key.deserializer key.serializer
    linger.ms max.block.ms max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms
    max.poll.records max.request.size metadata.max.idle.ms metadata.recovery.rebootstrap.trigger.ms
    metadata.recovery.strategy metric.reporters metrics.num.samples metrics.recording.level
    metrics.sample.window.ms partition.assignment.strategy partitioner.adaptive.partitioning.enable
    partitioner.availability.timeout.ms partitioner.class partitioner.ignore.keys retries retry.backoff.max.ms
    sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin sasl.kerberos.ticket.renew.jitter
    sasl.kerberos.ticket.renew.window.factor sasl.login.connect.timeout.ms sasl.login.read.timeout.ms
    sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
    sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms
    session.timeout.ms socket.connection.setup.timeout.max.ms ssl.keymanager.algorithm ssl.protocol
    ssl.secure.random.implementation ssl.trustmanager.algorithm transaction.timeout.ms
    transaction.two.phase.commit.enable transactional.id value.deserializer value.serializer
"""
HARMLESS_KEYS = frozenset(_HARMLESS.split())
"""Properties of producers, consumers and admin clients that have no effect here: they concern data, metrics, or
timing that ``--timeout`` sets."""

ZOOKEEPER_KEYS = frozenset(
    {
        "zookeeper.clientCnxnSocket",
        "zookeeper.digest.auth",
        "zookeeper.set.acl",
        "zookeeper.ssl.client.enable",
        "zookeeper.ssl.enabled.protocols",
        "zookeeper.ssl.endpoint.identification.algorithm",
        "zookeeper.ssl.keystore.location",
        "zookeeper.ssl.keystore.password",
        "zookeeper.ssl.keystore.type",
        "zookeeper.ssl.protocol",
        "zookeeper.ssl.truststore.location",
        "zookeeper.ssl.truststore.password",
        "zookeeper.ssl.truststore.type",
    }
)
"""Properties that kreplica/config/zookeeper_security.py reads, and two of Kafka's that have no effect here."""

UNTRANSLATED_KEYS: Mapping[str, str] = {
    "sasl.client.callback.handler.class": "Java classes cannot be used",
    "sasl.login.callback.handler.class": "Java classes cannot be used",
    "sasl.login.class": "Java classes cannot be used",
    "security.providers": "Java classes cannot be used",
    "ssl.cipher.suites": "the system's OpenSSL chooses the cipher suites",
    "ssl.engine.factory.class": "Java classes cannot be used",
    "ssl.provider": "Java classes cannot be used",
    "zookeeper.ssl.cipher.suites": "the system's OpenSSL chooses the cipher suites",
    "zookeeper.ssl.crl.enable": "revocation lists are not looked up",
    "zookeeper.ssl.ocsp.enable": "revocation is not looked up",
    "sasl.username": "that is a name of librdkafka; put the user into sasl.jaas.config",
    "sasl.password": "that is a name of librdkafka; put the password into sasl.jaas.config",
    "ssl.ca.location": "that is a name of librdkafka; use ssl.truststore.location with ssl.truststore.type=PEM",
    "ssl.certificate.location": "that is a name of librdkafka; use ssl.keystore.location with ssl.keystore.type=PEM",
    "ssl.key.location": "that is a name of librdkafka; use ssl.keystore.location with ssl.keystore.type=PEM",
}
"""Known properties that would matter and cannot be honoured, with the reason."""

_KNOWN_KEYS = frozenset(PLAIN_SETTINGS) | SECURITY_KEYS | HARMLESS_KEYS | ZOOKEEPER_KEYS
_CALLBACK = "sasl.client.callback.handler.class"
_PROVIDER_PREFIX = "config.providers."


def property_warnings(properties: Mapping[str, str]) -> tuple[str, ...]:
    """One clause for each property that has no effect; no value but the names of config providers is looked at."""
    clauses = []
    for key in properties:
        if key == _CALLBACK and properties.get("sasl.mechanism", "").strip() == "AWS_MSK_IAM":
            continue  # its Java class does what the mechanism does here
        if key in UNTRANSLATED_KEYS:
            clauses.append(f"client property {key} has no effect: {UNTRANSLATED_KEYS[key]}")
        elif key == "config.providers":
            clauses += _unknown_providers(properties[key])
        elif (hint := _unknown_hint(key)) is not None:
            clauses.append(f"client property {key} is not known and has no effect{hint}")
    return tuple(clauses)


def unknown_properties(properties: Mapping[str, str]) -> tuple[str, ...]:
    """One clause for each property that is not of Kafka's clients; serializers and interceptors may have their own."""
    hints = {key: _unknown_hint(key) for key in properties if key not in UNTRANSLATED_KEYS}
    return tuple(
        f"client property {key} is not one of Kafka's{hint}" for key, hint in hints.items() if hint is not None
    )


def _unknown_hint(key: str) -> str | None:
    if key in _KNOWN_KEYS or key == "config.providers" or key.startswith(_PROVIDER_PREFIX):
        return None
    close = nearest_names(key, _KNOWN_KEYS, most=1, close=0.8, parts=False)
    return f"; did you mean {close[0]}?" if close else ""


def _unknown_providers(names: str) -> list[str]:
    from kreplica.config.secrets import PROVIDERS

    others = sorted({name.strip() for name in names.split(",")} - {*PROVIDERS, ""})
    known = ", ".join(PROVIDERS)
    return [
        f"config provider {name} is not known here: its references stay as they are; known are {known}"
        for name in others
    ]


def is_known_property(key: str) -> bool:
    """True if kreplica knows the property, and so whether its value is a secret."""
    return key in _KNOWN_KEYS


def translate(properties: Mapping[str, str]) -> ClientSettings:
    """Translates Java client properties for both libraries; reads the key stores they name.

    Raises:
        ConfigurationError: A value cannot be used; names the property, never its value.
    """
    from kreplica.config.security import check_credentials_encrypted, translate_sasl, translate_tls

    librdkafka: dict[str, object] = {"client.id": DEFAULT_CLIENT_ID}
    kafka_python: dict[str, object] = {"client_id": DEFAULT_CLIENT_ID}
    for key, setting in PLAIN_SETTINGS.items():
        if key in properties and properties[key].strip() != "-1":
            value = _converted(key, properties[key], setting.convert)
            if setting.librdkafka:
                librdkafka[setting.librdkafka] = value
            if setting.kafka_python:
                kafka_python[setting.kafka_python] = value
    protocol = security_protocol(properties)
    librdkafka["security.protocol"] = protocol
    kafka_python["security_protocol"] = protocol
    lacks = translate_tls(properties, librdkafka, kafka_python) if protocol in (SSL, SASL_SSL) else ""
    if protocol in (SASL_PLAINTEXT, SASL_SSL):
        check_credentials_encrypted(properties)
        translate_sasl(properties, librdkafka, kafka_python)
    return ClientSettings(librdkafka, kafka_python, property_warnings(properties), lacks)


def security_protocol(properties: Mapping[str, str]) -> str:
    """The security.protocol in upper case; PLAINTEXT if none is given.

    Raises:
        ConfigurationError: It is none of Kafka's four.
    """
    protocol = properties.get("security.protocol", PLAINTEXT).strip().upper()
    if protocol not in SECURITY_PROTOCOLS:
        raise ConfigurationError("security.protocol is not known", f"expected one of {', '.join(SECURITY_PROTOCOLS)}")
    return protocol


def _converted(key: str, text: str, convert: Callable[[str], object]) -> object:
    try:
        return convert(text.strip())
    except ValueError:
        raise ConfigurationError(f"client property {key} is not a number") from None
