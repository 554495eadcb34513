"""Authentication to ZooKeeper: TLS and digest, from the properties that ``--command-config`` or a context gives.

TLS has Kafka's own names (``zookeeper.ssl.client.enable``, ``zookeeper.ssl.truststore.location`` ..., KIP-515): the
file that Kafka's tools take by ``--zk-tls-config-file`` does. Kafka has no name for ZooKeeper's digest scheme, since
brokers use SASL; here it is ``zookeeper.digest.auth=USER:PASSWORD``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kreplica.config.properties import translate
from kreplica.config.security import ZOOKEEPER_TLS, zookeeper_tls_properties
from kreplica.errors import ConfigurationError

if TYPE_CHECKING:
    import ssl

DIGEST = "zookeeper.digest.auth"
SET_ACL = "zookeeper.set.acl"


@dataclass(frozen=True, slots=True)
class ZookeeperSecurity:
    """TLS and credentials of a session.

    Args:
        context: For TLS; None without.
        digest: ``user:password`` of the digest scheme; None without.
    """

    context: ssl.SSLContext | None = None
    digest: str | None = field(default=None, repr=False)


def zookeeper_security(properties: Mapping[str, str]) -> ZookeeperSecurity:
    """Reads the ZooKeeper properties and the key stores they name.

    Raises:
        ConfigurationError: A value cannot be used; names the property, never a secret.
    """
    digest = properties.get(DIGEST)
    if digest is not None and not all(digest.partition(":")):
        raise ConfigurationError(f"{DIGEST} cannot be used", "expected USER:PASSWORD")
    enabled = properties.get(ZOOKEEPER_TLS, "false").strip().lower()
    if enabled not in ("true", "false"):
        raise ConfigurationError(f"{ZOOKEEPER_TLS} cannot be used", "expected true or false")
    return ZookeeperSecurity(_context(properties) if enabled == "true" else None, digest)


def _context(properties: Mapping[str, str]) -> ssl.SSLContext:
    import ssl

    own = {**zookeeper_tls_properties(properties), "security.protocol": "SSL"}
    try:
        context = translate(own).kafka_python["ssl_context"]
    except ConfigurationError as error:
        raise ConfigurationError(f"TLS to ZooKeeper cannot be set up: {error.what}", error.why, error.fix) from None
    assert isinstance(context, ssl.SSLContext)
    return context
