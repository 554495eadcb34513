"""``make conformance``: plays every row in both modes, one cluster a mode, and writes the table.

Exit status 0 if every row is equal or explained, 1 otherwise.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from conformance.play import Result, play
from conformance.repair import put_back
from conformance.rows import ROWS
from conformance.script import Row
from conformance.table import table, write
from kreplica.errors import KreplicaError
from kreplica.sandbox import Mode, Sandbox, SandboxSettings, start

TIMERS = {
    # A follower can be out of the ISR by its lag while its session is not over.
    "replica.lag.time.max.ms": "4000",
    "replica.high.watermark.checkpoint.interval.ms": "100",
}
SESSIONS = {
    Mode.KRAFT: {"broker.session.timeout.ms": "10000"},
    Mode.ZOOKEEPER: {"zookeeper.session.timeout.ms": "10000"},
}
HEADINGS = {Mode.KRAFT: "4.3.1 KRaft", Mode.ZOOKEEPER: "3.9.2 ZooKeeper"}


def settings_of(mode: Mode) -> SandboxSettings:
    """The cluster of a mode: three brokers with two log directories each; in KRaft a controller of its own."""
    return SandboxSettings(
        name=f"conformance-{mode}",
        mode=mode,
        controllers=1 if mode is Mode.KRAFT else 0,
        log_dirs=2,
        broker_settings=TIMERS | SESSIONS[mode],
    )


def play_all(sandbox: Sandbox, rows: Sequence[Row]) -> dict[str, Result]:
    """Plays rows one after the other, each on a topic of its own; what a row leaves is put back in order."""
    results: dict[str, Result] = {}
    for row in rows:
        begun = time.monotonic()
        results[row.name] = play(sandbox, row, row.name)
        print(f"{results[row.name]} ({time.monotonic() - begun:.0f} s)", flush=True)
        put_back(sandbox, row.name)
    return results


def main(arguments: Sequence[str]) -> int:
    """Plays the rows and writes the page where all of them were played."""
    parser = argparse.ArgumentParser(prog="make conformance")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--mode", choices=[*Mode], action="append")
    parser.add_argument("rows", nargs="*")
    asked = parser.parse_args(arguments)
    chosen = [row for row in ROWS if not asked.rows or row.name in asked.rows]
    results: dict[str, dict[str, Result]] = {}
    for mode in map(Mode, asked.mode or [*Mode]):
        with tempfile.TemporaryDirectory() as folder, start(settings_of(mode), Path(folder)) as sandbox:
            results[HEADINGS[mode]] = play_all(sandbox, [row for row in chosen if mode in row.modes])
    if asked.page:
        write(asked.page, table(chosen, results))
    return 0 if all(one.holds for found in results.values() for one in found.values()) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KreplicaError as error:
        sys.exit(f"error: {error}")
