"""Settings files of the servers, as pure functions of the sandbox's settings."""

from __future__ import annotations

from pathlib import Path

from kreplica.model.settings import MIN_ISR
from kreplica.sandbox.distribution.releases import Mode, Release, release_named
from kreplica.sandbox.processes import LOOPBACK
from kreplica.sandbox.servers.nodes import ZOOKEEPER_ID, Node, Role, security_protocols
from kreplica.sandbox.settings import Listener, SandboxSettings

JAAS = "org.apache.kafka.common.security"

# Small heaps and two cores: Kafka's defaults reserve 128 MiB for the cleaner alone and start dozens of threads.
_SMALL = {
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.dedupe.buffer.size": "2097152",
    "log.cleaner.io.buffer.size": "65536",
    "log.index.size.max.bytes": "262144",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
}
_KRAFT = {
    "share.coordinator.state.topic.num.partitions": "3",
    # A broker gives up by itself after a minute; a starved machine takes longer, and the sandbox has its own patience.
    "initial.broker.registration.timeout.ms": "600000",
    # The controller writes twice a second that nothing has happened, which takes idle brokers a quarter of their work.
    "metadata.max.idle.interval.ms": "5000",
}
# Nothing moves by itself while somebody watches, and faults show soon.
_STEADY = {
    "auto.leader.rebalance.enable": "false",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "replica.lag.time.max.ms": "10000",
}


def render(properties: dict[str, str]) -> str:
    """Return a Java properties file: ASCII, its reader takes Latin-1; backslashes doubled, its reader halves them."""
    lines = [f"{key}={_ascii(value)}" for key, value in properties.items()]
    return "\n".join(lines) + "\n"


def _ascii(value: str) -> str:
    units = value.replace("\\", "\\\\").encode("utf-16-be")
    numbers = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(chr(number) if 32 <= number < 127 else f"\\u{number:04x}" for number in numbers)


def zookeeper_properties(node: Node, folder: Path) -> dict[str, str]:
    """Return the settings of the one ZooKeeper server."""
    return {
        "dataDir": str(folder / "data"),
        "clientPort": str(node.ports["ZOOKEEPER"]),
        "clientPortAddress": LOOPBACK,
        "tickTime": "1000",
        "maxClientCnxns": "0",
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "ruok,stat,srvr,mntr",
        # A practice cluster need not outlive a power cut.
        "forceSync": "no",
    }


def server_properties(settings: SandboxSettings, nodes: dict[int, Node], node_id: int, folder: Path) -> dict[str, str]:
    """Return the settings of one broker or controller.

    Args:
        settings: What the sandbox is asked to be; its ``broker_settings`` win, and ``settings_by_broker`` over them.
        nodes: Every server by id.
        node_id: The one meant.
        folder: That server's own folder.
    """
    node = nodes[node_id]
    properties = _SMALL | _STEADY | _replication(settings) | _log_directories(settings, folder)
    properties |= _listeners(settings, node)
    if settings.mode is Mode.KRAFT:
        properties |= _kraft(settings, nodes, node)
    else:
        properties |= _zookeeper(settings, nodes, node)
    if settings.rack_of(node_id) and Role.BROKER in node.roles:
        properties["broker.rack"] = settings.rack_of(node_id)
    for listener in settings.listeners if Role.BROKER in node.roles else ():
        properties |= _security(settings, listener, folder)
    if settings.authorizer:
        properties |= _authorizer(settings)
    return properties | settings.broker_settings | settings.settings_by_broker.get(node_id, {})


def log_directories(settings: SandboxSettings, folder: Path) -> list[Path]:
    """Return the log directories of the server whose folder is given."""
    return [folder / f"data-{number}" for number in range(1, settings.log_dirs + 1)]


def _log_directories(settings: SandboxSettings, folder: Path) -> dict[str, str]:
    return {"log.dirs": ",".join(str(path) for path in log_directories(settings, folder))}


def _replication(settings: SandboxSettings) -> dict[str, str]:
    factor, min_isr = str(min(3, settings.brokers)), str(2 if settings.brokers >= 3 else 1)
    properties = {"default.replication.factor": factor, MIN_ISR: min_isr}
    internal = ["offsets.topic", "transaction.state.log"]
    if settings.mode is Mode.KRAFT:
        internal.append("share.coordinator.state.topic")
    properties |= {f"{topic}.replication.factor": factor for topic in internal}
    return properties | {f"{topic}.min.isr": min_isr for topic in internal[1:]}


def _listeners(settings: SandboxSettings, node: Node) -> dict[str, str]:
    listeners = [f"{name}://{node.address(name)}" for name in node.ports]
    protocols = security_protocols(settings)
    properties = {
        "listeners": ",".join(listeners),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
    }
    if Role.BROKER in node.roles:
        plaintext = Listener.PLAINTEXT.kafka_name
        advertised = {name: node.address(name) for name in node.ports if name != "CONTROLLER"}
        advertised[plaintext] = _proxied(settings, node, plaintext)
        properties["advertised.listeners"] = ",".join(f"{name}://{address}" for name, address in advertised.items())
    elif node.id in settings.advertised_ports:
        properties["advertised.listeners"] = f"CONTROLLER://{controller_address(settings, node)}"
    return properties


def _proxied(settings: SandboxSettings, node: Node, listener: str) -> str:
    proxy = settings.advertised_ports.get(node.id)
    return f"{LOOPBACK}:{proxy}" if proxy else node.address(listener)


def controller_address(settings: SandboxSettings, node: Node) -> str:
    """Return ``host:port`` at which others find a KRaft controller: that of a proxy only if it is no broker as well."""
    return node.address("CONTROLLER") if Role.BROKER in node.roles else _proxied(settings, node, "CONTROLLER")


def _kraft(settings: SandboxSettings, nodes: dict[int, Node], node: Node) -> dict[str, str]:
    controllers = {
        other.id: controller_address(settings, other) for other in nodes.values() if Role.CONTROLLER in other.roles
    }
    return _KRAFT | {
        "node.id": str(node.id),
        "process.roles": ",".join(node.roles),
        "controller.listener.names": "CONTROLLER",
        **_quorum(release_named(settings.kafka_version), controllers),
    }


def _quorum(release: Release, controllers: dict[int, str]) -> dict[str, str]:
    if release.has_dynamic_quorum:
        return {"controller.quorum.bootstrap.servers": ",".join(controllers.values())}
    return {"controller.quorum.voters": ",".join(f"{id_}@{address}" for id_, address in controllers.items())}


def _zookeeper(settings: SandboxSettings, nodes: dict[int, Node], node: Node) -> dict[str, str]:
    properties = {
        "broker.id": str(node.id),
        "zookeeper.connect": _proxied(settings, nodes[ZOOKEEPER_ID], "ZOOKEEPER"),
        "zookeeper.session.timeout.ms": "6000",
        "zookeeper.connection.timeout.ms": "30000",
    }
    if settings.ibp:
        properties["inter.broker.protocol.version"] = settings.ibp
        # Kafka 3 ignores a message format of 3.0 or newer and says so; below it decides what is written.
        if int(settings.ibp.split(".")[0]) < 3:
            properties["log.message.format.version"] = settings.ibp
    return properties


def _security(settings: SandboxSettings, listener: Listener, folder: Path) -> dict[str, str]:
    prefix = f"listener.name.{listener.kafka_name.lower()}."
    properties: dict[str, str] = {}
    if listener.encrypted:
        properties |= _tls(listener, prefix, folder)
    if listener.mechanism:
        properties[f"{prefix}sasl.enabled.mechanisms"] = listener.mechanism
        properties[f"{prefix}{listener.mechanism.lower()}.sasl.jaas.config"] = _jaas(settings, listener.mechanism)
    return properties


def _tls(listener: Listener, prefix: str, folder: Path) -> dict[str, str]:
    tls = folder.parent / "tls"
    properties = {
        f"{prefix}ssl.keystore.type": "PEM",
        f"{prefix}ssl.keystore.location": str(tls / "server.pem"),
        f"{prefix}ssl.truststore.type": "PEM",
        f"{prefix}ssl.truststore.location": str(tls / "ca.pem"),
    }
    if listener is Listener.MTLS:
        properties[f"{prefix}ssl.client.auth"] = "required"
        # The principal is the certificate's common name, so that users have one name on every listener.
        properties[f"{prefix}ssl.principal.mapping.rules"] = "RULE:^CN=([^,]+).*$/$1/,DEFAULT"
    return properties


def _jaas(settings: SandboxSettings, mechanism: str) -> str:
    if mechanism == "PLAIN":
        users = " ".join(f'user_{user}="{password}"' for user, password in settings.users.items())
        return f"{JAAS}.plain.PlainLoginModule required {users};"
    return f"{JAAS}.scram.ScramLoginModule required;"


def _authorizer(settings: SandboxSettings) -> dict[str, str]:
    kraft = settings.mode is Mode.KRAFT
    users = ["ANONYMOUS", *settings.super_users]  # ANONYMOUS: the brokers themselves, on the plaintext listener
    return {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        if kraft
        else "kafka.security.authorizer.AclAuthorizer",
        "super.users": ";".join(f"User:{user}" for user in users),
        "allow.everyone.if.no.acl.found": "false",
    }


def client_properties(
    settings: SandboxSettings, bootstrap_servers: str, listener: Listener, user: str, tls_folder: Path
) -> dict[str, str]:
    """Return Java client properties that reach one listener as one user."""
    properties = {"bootstrap.servers": bootstrap_servers, "security.protocol": listener.protocol}
    if listener.encrypted:
        properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(tls_folder / "ca.pem")}
    if listener is Listener.MTLS:
        keystore = str(tls_folder / f"user-{user}.pem")
        properties |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": keystore}
    if listener.mechanism:
        module = "plain.PlainLoginModule" if listener.mechanism == "PLAIN" else "scram.ScramLoginModule"
        credentials = f'username="{user}" password="{settings.users[user]}"'
        properties["sasl.mechanism"] = listener.mechanism
        properties["sasl.jaas.config"] = f"{JAAS}.{module} required {credentials};"
    return properties
