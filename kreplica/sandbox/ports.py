"""Free ports on the loopback interface."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection
from pathlib import Path

from kreplica.errors import SandboxError

LOOPBACK = "127.0.0.1"
FIRST_PORT = 20000
# Below the range that the system hands to outgoing connections: none of those can take a port between the look
# and the start of the broker, nor while a killed broker is down.
_LOCAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_DEFAULT_LAST = 32767


def last_port() -> int:
    """Return the highest port below those the system gives to outgoing connections."""
    if not _LOCAL_RANGE.exists():
        return _DEFAULT_LAST
    first_outgoing = int(_LOCAL_RANGE.read_text(encoding="ascii").split()[0])
    return first_outgoing - 1 if first_outgoing > FIRST_PORT + 1000 else _DEFAULT_LAST


def is_free(port: int) -> bool:
    """Tell whether a server could listen on ``port`` of the loopback interface now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def choose_ports(count: int, taken: Collection[int]) -> list[int]:
    """Choose ``count`` free ports that are not in ``taken``.

    The search begins at a random port: two sandboxes begun at the same time hardly meet.

    Raises:
        SandboxError: There are not as many.
    """
    span = last_port() - FIRST_PORT + 1
    offset = random.randrange(span)
    chosen: list[int] = []
    for step in range(span):
        port = FIRST_PORT + (offset + step) % span
        if port not in taken and is_free(port):
            chosen.append(port)
        if len(chosen) == count:
            return chosen
    raise SandboxError(f"{count} free ports are needed", f"{len(chosen)} are free from {FIRST_PORT} to {last_port()}")
