"""``make conformance``: plays every row in both modes, one cluster a mode, and writes each into the table as it ends.

The clusters stand side by side: rows wait for timers most of the time.

Exit status 0 if every row that was played is equal or explained, 1 otherwise.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from conformance.old.playing import CHECKPOINTS
from conformance.play import play
from conformance.repair import put_back
from conformance.rows import ROWS
from conformance.script import Row
from conformance.table import GOOD, HEADINGS, NOT_PLAYED, record, recorded
from kreplica.errors import KreplicaError
from kreplica.sandbox import Links, Mode, Sandbox, SandboxSettings, start

BROKERS = 3
TIMERS = {
    # A follower can be out of the ISR by its lag while its session is not over.
    "replica.lag.time.max.ms": "4000",
    **CHECKPOINTS,
}
SESSIONS = {
    Mode.KRAFT: {"broker.session.timeout.ms": "10000"},
    Mode.ZOOKEEPER: {"zookeeper.session.timeout.ms": "10000"},
}
Tell = Callable[[Row, str], None]
"""Takes a row and its verdict."""


def settings_of(mode: Mode, links: Links, controllers: int) -> SandboxSettings:
    """The cluster of a mode: three brokers with two log directories each; in KRaft controllers of its own."""
    return SandboxSettings(
        name=_name(mode),
        mode=mode,
        controllers=controllers,
        log_dirs=2,
        advertised_ports=links.ports,
        broker_settings=TIMERS | SESSIONS[mode],
    )


def _name(mode: Mode) -> str:
    return f"conformance-{mode}"


class LostClusterError(KreplicaError):
    """A cluster that could not be put back in order after a row: the rows left need another one."""


def play_all(sandbox: Sandbox, links: Links, rows: Sequence[Row], tell: Tell, logs: Path | None = None) -> None:
    """Plays rows one after the other, each on a topic of its own; what a row leaves is put back in order.

    Args:
        sandbox: The cluster.
        links: The proxies between its brokers.
        rows: In order.
        tell: Is told of each row as soon as it was played, or could not be.
        logs: A folder for the brokers' logs after a row that differs.

    Raises:
        LostClusterError: The cluster cannot be put back in order.
    """
    for row in rows:
        verdict = _played(sandbox, links, row)
        if logs and verdict not in GOOD:
            _keep_logs(sandbox, logs / f"{sandbox.mode}-{row.name}")
        tell(row, verdict)
        links.restore_all()
        try:
            put_back(sandbox, row.name)
        except KreplicaError as error:
            raise LostClusterError(f"after {row.name}: {error}") from error


def _keep_logs(sandbox: Sandbox, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for server in (*sandbox.controller_ids, *sandbox.broker_ids):
        shutil.copy(sandbox.log_file(server), folder / f"{server}.log")


def _played(sandbox: Sandbox, links: Links, row: Row) -> str:
    """The row's verdict; ``NOT_PLAYED`` where the runner failed, not the comparison."""
    begun = time.monotonic()
    try:
        result = play(sandbox, row, row.name, links)
    except Exception as error:  # the rows after it are played all the same
        print(f"{sandbox.mode} {row.name}: {NOT_PLAYED}: {type(error).__name__}: {error}", flush=True)
        return NOT_PLAYED
    print(
        f"{sandbox.mode} {result} ({time.monotonic() - begun:.0f} s: {' '.join(map(str, result.seconds))})", flush=True
    )
    return result.verdict


def play_mode(mode: Mode, rows: Sequence[Row], tell: Tell, logs: Path | None = None) -> None:
    """Plays rows in one mode: those with as many controllers on one cluster; on the next one if that is lost."""
    for controllers in dict.fromkeys(row.controllers for row in rows):
        chosen = [row for row in rows if row.controllers == controllers]
        _play_on_clusters(mode, controllers if mode is Mode.KRAFT else 0, chosen, tell, logs)


def _play_on_clusters(mode: Mode, controllers: int, rows: Sequence[Row], tell: Tell, logs: Path | None) -> None:
    left = list(rows)

    def told(row: Row, verdict: str) -> None:
        left.remove(row)
        tell(row, verdict)

    while left:
        begun = time.monotonic()
        with (
            tempfile.TemporaryDirectory() as folder,
            Links(_name(mode), BROKERS, home=Path(folder), controllers=controllers) as links,
            start(settings_of(mode, links, controllers), Path(folder)) as sandbox,
        ):
            print(f"{HEADINGS[mode]}: started in {time.monotonic() - begun:.0f} s", flush=True)
            try:
                play_all(sandbox, links, list(left), told, logs)
            except LostClusterError as error:
                print(f"{HEADINGS[mode]}: a cluster was lost {error}", flush=True)


def main(arguments: Sequence[str]) -> int:
    """Plays the rows; the page is told of each as soon as it was played."""
    parser = argparse.ArgumentParser(prog="make conformance")
    parser.add_argument("--page", type=Path, help="the page with the table")
    parser.add_argument("--logs", type=Path, help="a folder for the brokers' logs after each row that differs")
    parser.add_argument("--mode", choices=[*Mode], action="append")
    parser.add_argument("--left", action="store_true", help="only rows that the page does not call equal or explained")
    parser.add_argument("rows", nargs="*")
    asked = parser.parse_args(arguments)
    begun, verdicts, writing = time.monotonic(), list[str](), Lock()

    def played(mode: Mode) -> None:
        def tell(row: Row, verdict: str) -> None:
            with writing:
                verdicts.append(verdict)
                if asked.page and verdict != NOT_PLAYED:
                    record(asked.page, ROWS, row, mode, verdict)

        known = recorded(asked.page) if asked.left else {}
        chosen = [row for row in ROWS if mode in row.modes and (not asked.rows or row.name in asked.rows)]
        play_mode(mode, [row for row in chosen if known.get((row.name, mode)) not in GOOD], tell, asked.logs)

    with ThreadPoolExecutor(len(Mode)) as modes:
        list(modes.map(played, map(Mode, asked.mode or [*Mode])))
    good = sum(verdict in GOOD for verdict in verdicts)
    print(f"{good} of {len(verdicts)} rows are equal or explained, after {time.monotonic() - begun:.0f} s")
    return int(good < len(verdicts))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KreplicaError as error:
        sys.exit(f"error: {error}")
