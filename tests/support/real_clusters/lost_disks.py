"""Disks of brokers that are lost with all that is on them."""

from __future__ import annotations

import re
import shutil

from kreplica.formats.log_directory.meta_properties import META_PROPERTIES
from kreplica.sandbox import Mode, Sandbox
from kreplica.sandbox.servers.formatting import new_id


def lose_disk(sandbox: Sandbox, broker: int) -> None:
    """Ends a broker by SIGKILL and empties its log directories.

    For KRaft they are formatted for another disk, of another directory id; with ZooKeeper a broker does so by itself.
    """
    sandbox.kill(broker)
    for directory in sandbox.folder.glob(f"broker-{broker}/data-*"):
        properties = directory / META_PROPERTIES
        told = properties.read_text(encoding="ascii") if sandbox.mode is Mode.KRAFT else ""
        shutil.rmtree(directory)
        directory.mkdir()
        if told:
            properties.write_text(re.sub(r"(?m)^(directory\.id)=.*$", rf"\1={new_id()}", told), encoding="ascii")
