"""Validation of the transaction logs of a ZooKeeper server, one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from kreplica.errors import InputError, os_reason
from kreplica.formats.damage import Damage
from kreplica.formats.traces.kraft.validation import Validation
from kreplica.formats.traces.zookeeper.trace import ZooKeeperWalk
from kreplica.formats.traces.zookeeper.transactions import Transaction, decode_transactions

VERSION_DIRECTORY: Final = "version-2"
_NAME = re.compile(r"log\.([0-9a-f]{1,16})")


def transaction_logs(paths: Sequence[str]) -> list[Path]:
    """The transaction logs at the paths, in order of their zxids; none where there are none.

    Raises:
        InputError: A directory cannot be listed.
    """
    found = {file for path in map(Path, paths) for file in _logs(path)}
    return sorted(found, key=lambda file: int(file.name.partition(".")[2], 16))


def _logs(path: Path) -> Iterator[Path]:
    try:
        if _NAME.fullmatch(path.name) and path.is_file():
            yield path
            return
        for folder in (path, path / VERSION_DIRECTORY):
            if folder.is_dir():
                yield from (file for file in folder.iterdir() if _NAME.fullmatch(file.name) and file.is_file())
    except (OSError, ValueError) as error:
        reason = os_reason(error) if isinstance(error, OSError) else str(error)
        raise InputError(str(path), "", reason) from None


def validate_transaction_logs(files: Sequence[Path]) -> Validation:
    """Judges what the controllers of a cluster in ZooKeeper mode wrote.

    Args:
        files: Transaction logs of one server, in order; at least one.

    Raises:
        InputError: One cannot be read.
    """
    walk, damage = ZooKeeperWalk(), list[Damage]()
    for file in files:
        for transaction in _transactions(file, damage):
            walk.take(transaction)
    return Validation(
        home=files[0].parent,
        remarks=[],
        cluster_id=walk.cluster_id,
        version="ZooKeeper mode",
        rows=walk.rows,
        counts=walk.counts,
        begin=walk.first or 0,
        end=(walk.last or 0) + 1,
        checkpoints=0,
        damage=damage,
        unknown=0,
    )


def _transactions(file: Path, damage: list[Damage]) -> Iterator[Transaction]:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(str(file), "", os_reason(error)) from None
    return decode_transactions(content, str(file), damage)
