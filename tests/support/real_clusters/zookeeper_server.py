"""A ZooKeeper of its own for tests, from the sandbox's jars: a plain port, and one by TLS with client certificates."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kreplica.sandbox.certificates import write_certificates
from kreplica.sandbox.distribution.jars import class_path
from kreplica.sandbox.processes import (
    LOOPBACK,
    ProcessState,
    choose_ports,
    send,
    server_command,
    spawn,
    state_of,
    wait_for_end,
    write_class_path,
)
from kreplica.sandbox.servers.logs import CONSOLE_FILE, reason_of_failure, write_server_logging
from kreplica.sandbox.servers.properties import render
from kreplica.system.class_archives import archive_options
from kreplica.system.java import find_java

KAFKA = "3.9.2"
MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"


@dataclass(frozen=True)
class Server:
    """Where it listens, and where its certificates lie."""

    plain: str
    secure: str
    tls: Path
    pid: int

    def properties(self, user: str = "alice") -> dict[str, str]:
        """Kafka's own properties for its TLS port."""
        return {
            "zookeeper.ssl.client.enable": "true",
            "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
            "zookeeper.ssl.truststore.type": "PEM",
            "zookeeper.ssl.truststore.location": str(self.tls / "ca.pem"),
            "zookeeper.ssl.keystore.type": "PEM",
            "zookeeper.ssl.keystore.location": str(self.tls / f"user-{user}.pem"),
        }


@contextmanager
def zookeeper_server(folder: Path, heap_mib: int = 192) -> Iterator[Server]:
    """Runs ZooKeeper in the folder until the end of the block."""
    folder.mkdir(parents=True, exist_ok=True)
    plain, secure = choose_ports(2, set())
    tls = folder / "tls"
    write_certificates(tls, ("alice",))
    (folder / "server.properties").write_text(render(_properties(folder, plain, secure)), encoding="ascii")
    java, jars = find_java().executable, class_path(KAFKA)
    arguments = write_class_path(folder, jars, archive_options(java, jars))
    logging = write_server_logging(KAFKA, folder)
    program = [MAIN, str(folder / "server.properties")]
    process = spawn(server_command(java, arguments, heap_mib, logging, program), folder / CONSOLE_FILE)
    try:
        ends = time.monotonic() + 60
        while not (_listens(plain) and _listens(secure)):
            assert state_of(process) is not ProcessState.ENDED, reason_of_failure(folder)
            assert time.monotonic() < ends, reason_of_failure(folder)
            time.sleep(0.1)
        yield Server(f"{LOOPBACK}:{plain}", f"localhost:{secure}", tls, process.pid)
    finally:
        send(process, signal.SIGKILL)
        assert wait_for_end(process, 30)


def _properties(folder: Path, plain: int, secure: int) -> dict[str, str]:
    tls = folder / "tls"
    return {
        "dataDir": str(folder / "data"),
        "clientPort": str(plain),
        "clientPortAddress": LOOPBACK,
        "secureClientPort": str(secure),
        "secureClientPortAddress": LOOPBACK,
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "ssl.keyStore.location": str(tls / "server.pem"),
        "ssl.trustStore.location": str(tls / "ca.pem"),
        "ssl.clientAuth": "need",
        "tickTime": "1000",
        "maxClientCnxns": "0",
        "admin.enableServer": "false",
        "forceSync": "no",
    }


def _listens(port: int) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1):
            return True
    except OSError:
        return False
