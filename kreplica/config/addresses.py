"""Addresses of clusters: bootstrap servers, and ZooKeeper servers with a chroot."""

from __future__ import annotations

from kreplica.errors import UsageError

DEFAULT_PORT = 9092
ZOOKEEPER_PORT = 2181


def parse_bootstrap_servers(servers: str) -> tuple[tuple[str, int], ...]:
    """Splits ``host:port,...`` into addresses; a port left out is 9092, IPv6 stands in brackets.

    Raises:
        UsageError: A part is no host and port.
    """
    parts = [part.strip() for part in servers.split(",") if part.strip()]
    if not parts:
        raise UsageError("the bootstrap servers are empty", "", "give HOST:PORT, several separated by commas")
    return tuple(_parse_server(part) for part in parts)


def parse_zookeeper(connect: str) -> tuple[tuple[tuple[str, int], ...], str]:
    """Splits ``host:port,.../chroot``, as Kafka's zookeeper.connect has it, into addresses and chroot.

    A port left out is 2181, IPv6 stands in brackets; the chroot is ``/`` where none is given.

    Raises:
        UsageError: A part is no host and port, or the chroot is no path.
    """
    servers, slash, path = connect.strip().partition("/")
    parts = [part.strip() for part in servers.split(",") if part.strip()]
    chroot = slash + path.rstrip("/")
    if not parts:
        raise UsageError("the ZooKeeper servers are empty", "", "give HOST:PORT/CHROOT, hosts separated by commas")
    if any(name in ("", ".", "..") or "\0" in name or "," in name for name in chroot.split("/")[1:] if chroot != "/"):
        raise UsageError(f"ZooKeeper chroot {chroot!r} cannot be used", "expected /PATH once, after the last server")
    return tuple(_parse_server(part, "ZooKeeper server", ZOOKEEPER_PORT) for part in parts), chroot or "/"


def _parse_server(part: str, what: str = "bootstrap server", default_port: int = DEFAULT_PORT) -> tuple[str, int]:
    host, bracket, tail = part[1:].partition("]") if part.startswith("[") else ("", "", "")
    if bracket:
        port = tail.removeprefix(":") if tail else str(default_port)
    else:
        host, _, port = part.partition(":")
        port = port if ":" in part else str(default_port)
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError(f"{what} {part!r} cannot be used", "expected HOST:PORT", "for IPv6: [ADDRESS]:PORT")
    return host, int(port)
