"""Settings of a sandbox."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum

from kreplica.errors import UsageError
from kreplica.sandbox.distribution.releases import NEWEST, Mode, release_named

MAX_BROKERS = 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_WORD = re.compile(r"[A-Za-z0-9._-]+")
# The broker needs these to be what the sandbox made of them.
RESERVED_SETTINGS = frozenset(
    {
        "advertised.listeners",
        "broker.id",
        "controller.listener.names",
        "controller.quorum.bootstrap.servers",
        "controller.quorum.voters",
        "listener.security.protocol.map",
        "listeners",
        "log.dir",
        "log.dirs",
        "node.id",
        "process.roles",
        "zookeeper.connect",
    }
)


class Listener(StrEnum):
    """A kind of listener; every sandbox also has ``plaintext``, for the brokers themselves and for its own tools."""

    PLAINTEXT = "plaintext"
    TLS = "tls"
    MTLS = "mtls"
    SASL_PLAIN = "sasl-plain"
    SCRAM_SHA_256 = "scram-sha-256"
    SCRAM_SHA_512 = "scram-sha-512"
    TLS_SASL_PLAIN = "tls-sasl-plain"
    TLS_SCRAM_SHA_256 = "tls-scram-sha-256"
    TLS_SCRAM_SHA_512 = "tls-scram-sha-512"

    @property
    def kafka_name(self) -> str:
        """Its name in broker settings."""
        return self.value.upper().replace("-", "_")

    @property
    def encrypted(self) -> bool:
        """True if it uses TLS."""
        return "tls" in self.value

    @property
    def mechanism(self) -> str:
        """The SASL mechanism; empty without SASL."""
        if self.value.endswith("sasl-plain"):
            return "PLAIN"
        return self.value.removeprefix("tls-").upper() if "scram" in self.value else ""

    @property
    def protocol(self) -> str:
        """Kafka's security protocol."""
        return ("SASL_" if self.mechanism else "") + ("SSL" if self.encrypted else "PLAINTEXT")


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSettings:
    """Settings of a sandbox.

    Attributes:
        name: Tells several sandboxes apart.
        mode: KRaft or ZooKeeper.
        release: The Kafka that runs, one of ``RELEASES``; empty for 4.3.1 in KRaft mode and 3.9.2 in ZooKeeper mode.
        brokers: Number of brokers, ids 1 to N.
        controllers: KRaft nodes that are controllers only, with ids after the brokers'; 0 makes the first brokers
            controllers too (three of three or more, otherwise one).
        racks: Rack of broker 1, 2, ...; begun again at the end. Empty: no racks.
        log_dirs: Log directories of each broker.
        listeners: Kinds of listeners; the first is the one that ``bootstrap_servers`` names.
        users: User names and passwords for SASL, and names of client certificates for mutual TLS.
        super_users: Users the authorizer never refuses.
        authorizer: Whether access control lists hold. Users of the plaintext listener stay super users.
        ibp: inter.broker.protocol.version (ZooKeeper mode); empty for the broker's own.
        broker_settings: Broker settings that win over the sandbox's own.
        settings_by_broker: Broker settings of single brokers by id; they win over these.
        advertised_ports: Ports of the loopback interface at which others find brokers and nodes that are controllers
            only, by node id, and brokers find ZooKeeper, by 0: those of proxies (``links``). What is not among them is
            found where it listens.
        heap_mib: Heap of each server in MiB.
    """

    name: str = "default"
    mode: Mode = Mode.KRAFT
    release: str = ""
    brokers: int = 3
    controllers: int = 0
    racks: tuple[str, ...] = ()
    log_dirs: int = 1
    listeners: tuple[Listener, ...] = (Listener.PLAINTEXT,)
    users: dict[str, str] = field(default_factory=lambda: {"admin": "admin-secret", "alice": "alice-secret"})
    super_users: tuple[str, ...] = ("admin",)
    authorizer: bool = False
    ibp: str = ""
    broker_settings: dict[str, str] = field(default_factory=dict)
    settings_by_broker: dict[int, dict[str, str]] = field(default_factory=dict)
    advertised_ports: dict[int, int] = field(default_factory=dict)
    heap_mib: int = 256

    @property
    def kafka_version(self) -> str:
        """The Kafka that runs."""
        return self.release or NEWEST[self.mode]

    @property
    def all_listeners(self) -> tuple[Listener, ...]:
        """The listeners asked for and the plaintext one, each once."""
        return tuple(dict.fromkeys((*self.listeners, Listener.PLAINTEXT)))

    def rack_of(self, broker: int) -> str:
        """Return the rack of a broker id; empty without racks."""
        return self.racks[(broker - 1) % len(self.racks)] if self.racks else ""

    def validate(self) -> None:
        """Check everything that can be known before a server is started.

        Raises:
            UsageError: Names the setting that cannot be used.
        """
        _require(_NAME.fullmatch(self.name), f"{self.name!r} is no name of a sandbox", "letters, digits, . _ -")
        _require(1 <= self.brokers <= MAX_BROKERS, f"{self.brokers} brokers cannot be started", f"1 to {MAX_BROKERS}")
        _require(0 <= self.controllers <= 7, f"{self.controllers} controllers cannot be started", "0 to 7")
        _require(1 <= self.log_dirs <= 16, f"{self.log_dirs} log directories cannot be used", "1 to 16")
        _require(64 <= self.heap_mib <= 65536, f"a heap of {self.heap_mib} MiB cannot be used", "64 to 65536")
        _require(self.listeners, "a sandbox needs a listener")
        for rack in self.racks:
            _require(_WORD.fullmatch(rack), f"{rack!r} is no name of a rack", "letters, digits, . _ -")
        self._validate_mode()
        self._validate_release()
        self._validate_users()
        self._validate_broker_settings()

    def _validate_mode(self) -> None:
        zookeeper = self.mode is Mode.ZOOKEEPER
        _require(zookeeper or not self.ibp, "--ibp needs --mode zookeeper", "KRaft has metadata versions instead")
        _require(not (zookeeper and self.controllers), "--controllers needs --mode kraft")
        _require(not self.ibp or re.fullmatch(r"\d+\.\d+(\.\d+)?(-IV\d+)?", self.ibp), f"{self.ibp!r} is no version")

    def _validate_release(self) -> None:
        release = release_named(self.kafka_version)
        modes = " or ".join(release.modes)
        _require(self.mode in release.modes, f"the sandbox has no Kafka {release.name} in {self.mode} mode", modes)
        secured = self.authorizer or self.all_listeners != (Listener.PLAINTEXT,)
        _require(
            release.is_secured or not secured,
            f"a sandbox of Kafka {release.name} has the plaintext listener alone",
            "other listeners and the authorizer need 3.9.2 or newer",
        )

    def _validate_broker_settings(self) -> None:
        given = {key for settings in self.settings_by_broker.values() for key in settings} | self.broker_settings.keys()
        taken = sorted(RESERVED_SETTINGS & given)
        _require(not taken, f"{', '.join(taken)} cannot be set", "the sandbox chooses ids, ports and folders itself")
        controllers = set(range(self.brokers + 1, self.brokers + self.controllers + 1))
        proxied = self.advertised_ports.keys() - ({0} if self.mode is Mode.ZOOKEEPER else controllers)
        for broker in sorted({*self.settings_by_broker, *proxied}):
            _require(1 <= broker <= self.brokers, f"there is no broker {broker}", f"1 to {self.brokers}")

    def _validate_users(self) -> None:
        for user, password in self.users.items():
            _require(_WORD.fullmatch(user), f"{user!r} is no name of a user", "letters, digits, . _ -")
            _require(
                password and not set(password) & set('"\\\n,[]='),
                f"the password of {user} cannot be used",
                "it is empty, or has a quotation mark, backslash, comma, bracket, = or line break",
            )


def _require(condition: object, what: str, why: str = "") -> None:
    if not condition:
        raise UsageError(what, why)
