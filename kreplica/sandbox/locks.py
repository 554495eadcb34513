"""A lock between processes, bounded in time; the kernel frees it when its holder dies."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kreplica.errors import SandboxError

POLL_SECONDS = 0.1


@contextmanager
def exclusive(path: Path, timeout: float, purpose: str) -> Iterator[None]:
    """Hold the lock file ``path`` for the length of the block.

    Args:
        path: The lock file; it stays where it is, empty.
        timeout: Seconds to wait for another holder.
        purpose: What the lock guards, for the error.

    Raises:
        SandboxError: Another process holds it for longer than ``timeout``.
    """
    import fcntl

    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + timeout
    with path.open("a") as handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise SandboxError(
                        f"{purpose} is busy",
                        f"another kreplica process has held {path} for {timeout:g} s",
                        "wait for it to finish, or end it",
                    ) from None
                time.sleep(POLL_SECONDS)
        yield
