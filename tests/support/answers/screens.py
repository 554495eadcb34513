"""Answers as a terminal of 80 and of 140 columns shows them, kept in tests/golden/screens.

``python tests/support/answers/screens.py`` writes them anew, for a look at what a change did: ``git diff`` shows each.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).parents[3]
SCREENS = ROOT / "tests" / "golden" / "screens"
WIDTHS = (80, 140)
AGE = 2 * 3600 + 7 * 60
"""Seconds since the packaged dumps were written, on every screen."""
NOW = datetime(2026, 11, 23, 11, 20, tzinfo=UTC).timestamp()
"""Time to which open transactions are aged, on every screen."""
DISK = "tests/golden/kafka-4.3.1/killed-all"
OFFSETS = "tests/golden/kafka-3.9.2/clean/broker-1"
BROKER = f"{DISK}/broker-1"
CONTEXTS = "tests/golden/screens/contexts.toml"

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "describe": ("describe --dump sample", "describe --dump sample-healthy"),
    "describe-rows": (
        "describe --dump sample --under-replicated --exclude-internal",
        "describe --dump sample --offline",
        "describe --dump sample --under-replicated --group-by broker",
        "describe --dump sample --under-replicated --group-by cause",
    ),
    "check": ("check --dump sample", "check --dump sample-healthy", "check --dump sample --rule rf-one"),
    "recommend": ("recommend --dump sample --topic audit.log", "recommend --dump sample"),
    "imbalance": ("imbalance --dump sample", "imbalance --dump sample-healthy"),
    "safe-to-stop": (
        "safe-to-stop 2 --dump sample --max-age 365d",
        "safe-to-stop 2 --dump sample-healthy --max-age 365d",
        "safe-to-stop 2 --dump sample-healthy",
    ),
    "wait": (
        "wait --for in-sync --broker 3 --dump sample-healthy --max-age 365d",
        "wait --for no-under-replicated --dump sample --max-age 365d",
    ),
    "compare": ("compare dump:sample dump:sample-healthy --settle 0", "compare dump:sample dump:sample --settle 0"),
    "disks": ("disks --dump sample --top 3", "disks --dump sample-healthy"),
    "rebalance": ("rebalance leaders --dump sample", "rebalance leaders --dump sample-healthy"),
    "rebalance-replicas": (
        "rebalance replicas --drain 3 --dump sample-healthy",
        "rebalance replicas --balance leaders --dump sample-healthy --max-leader-changes 3",
        "rebalance replicas --drain 1 --topic two-copies --dump sample-healthy --throttle 50MB",
        "rebalance replicas --balance bytes --dump sample-healthy",
        "rebalance replicas --rack-aware --dump sample-healthy",
        "rebalance replicas --dump sample",
        "rebalance replicas --add 9 --dump sample",
    ),
    "rebalance-plans": (
        "rebalance leaders --dump sample --out leaders.json",
        "rebalance apply leaders.json --dump sample",
        "rebalance resume leaders.json --dump sample",
        "rebalance cancel leaders.json",
        "rebalance rollback leaders.json --dump sample",
    ),
    "rebalance-moves": (
        "rebalance replicas --drain 3 --dump sample-healthy --out moves.json",
        "rebalance apply moves.json --dump sample-healthy --throttle none",
        "rebalance status moves.json --dump sample-healthy",
        "rebalance cancel moves.json --dump sample-healthy",
        "rebalance rollback moves.json --dump sample-healthy",
        "rebalance verify moves.json --dump sample-healthy",
        "rebalance replicas --drain 1 --topic two-copies --dump sample-healthy --out one.json",
        "rebalance verify one.json --dump sample-healthy",
        "rebalance throttles --dump sample",
    ),
    "rebalance-rehearse": (
        "rebalance replicas --drain 1 --topic two-copies --dump sample-healthy --out one.json",
        "rebalance rehearse one.json --dump sample-healthy --runs 2 --seed 4",
        "rebalance rehearse one.json --dump sample-healthy --runs 1 --seed 4 --set acks=1",
    ),
    "assign": (
        "assign invoices --partitions 6 --replication-factor 3 --dump sample-healthy",
        "assign invoices --partitions 4 --replication-factor 2 --algorithm rack-aware --seed 7 --dump sample",
        "assign invoices --partitions 6 --replication-factor 9 --dump sample",
    ),
    "roll": (
        "roll plan --dump sample-healthy --out roll.json",
        "roll next roll.json --dump sample-healthy",
        "roll plan --dump sample",
    ),
    "history": (
        "audit ingest sample --into fleet",
        "history --in fleet single-copy-0 --cluster i0iQ6TlnRRmrapXchcJ1Uw",
        "history --in fleet --broker 3 --cluster i0iQ6TlnRRmrapXchcJ1Uw",
        "audit resilience fleet",
        "audit resilience fleet --cluster kafka-4.3.1 --since 2026-11-21T07:07",
        "audit slo fleet",
        "audit slo fleet --by cause --objective 99",
    ),
    "audit-incidents": (
        "audit ingest sample --into fleet",
        "audit incidents fleet",
        "audit incident 13714d5eae50 fleet",
        "audit incident 000000000000 fleet",
    ),
    "snapshot": ("snapshot --dump sample --out snapshots",),
    "sandbox": ("sandbox status", "sandbox stop", "sandbox load", "sandbox tool topics --list"),
    "refused": (
        "describe --dump no-such-dump",
        "describe --dump sample --topc orders",
        "rebalance apply no-such-plan.json",
        "rebalance status no-such-plan.json",
        "config check --config tests/golden/screens/contexts.toml",
    ),
    "whatif-catalogue": ("whatif list", "whatif show hw-truncation-loss"),
    "whatif-run": (
        "whatif run hw-truncation-loss --kafka-version 0.10",
        "whatif run acks1-leader-crash --explain",
        "whatif run hw-truncation-loss --kafka-version 0.10 --why m2",
        "whatif compare hw-truncation-loss --kafka-version 0.10,0.11,4.1",
    ),
    "whatif-fail": ("whatif fail --dump sample-healthy --broker 2", "whatif fail --dump sample --rack r1"),
    "whatif-models": ("whatif models", "whatif model settings-4.1", "whatif model quorum-m1"),
    "whatif-prove": (
        "whatif prove --replicas 2",
        "whatif prove --model truncate-to-hw",
        "whatif prove --model kip-320-first-try --invariant epoch-prefix --invariant strong-isr --memory 4MB",
        "whatif prove --replicas 2 --memory 400kB",
        "whatif prove --model async-isr-m1",
        "whatif prove --model kraft --in-sync 2 --fences 1",
        "whatif prove --model kip-966 --replicas 2 --min-isr 1 --fences 1 --losses 0",
        "whatif prove --model settings-4.1 --set acks=1",
    ),
    "whatif-validate": (
        f"whatif validate {BROKER}",
        f"whatif validate {BROKER} --set broker.session.timeout.ms=200000",
        f"whatif validate {BROKER} --kafka-version 3.9-kraft",
        "whatif validate no-such-log",
    ),
    "decode-offsets": (f"decode offsets {OFFSETS}", f"decode offsets {OFFSETS} --groups"),
    "decode-segment": (f"decode segment {BROKER}/data/orders-1",),
    "decode-transactions": (
        f"decode transactions {BROKER} --as-of-time 2026-11-24",
        f"decode transactions {BROKER} --hanging",
    ),
    "decode-metadata": (f"decode metadata {BROKER}",),
    "decode-checkpoints": (f"decode checkpoints {BROKER}",),
    "decode-indexes": (f"decode indexes {BROKER}/data/orders-1",),
    "decode-check": (f"decode check {BROKER}",),
    "decode-compare": (f"decode compare {DISK}/broker-1 {DISK}/broker-2",),
    "config": (
        f"config list --config {CONTEXTS}",
        f"config show prod-eu --config {CONTEXTS}",
        "config init --config new.toml",
        "config init --config new.toml",
        "config use prod --config new.toml",
        "config check --config new.toml",
    ),
    "help": ("--help", "describe --help", "whatif --help"),
}
"""Command lines by the name of the file that shows their answers."""


PROGRESS = re.compile(r"\x1b\[\?25l.*?\x1b\[\?25h", re.DOTALL)
"""Bars of progress: drawn while the cursor is hidden, and different in each run."""


class Terminal(io.StringIO):
    """What is printed, by a program that believes it prints to a terminal."""

    def isatty(self) -> bool:
        return True


def shown(name: str, width: int) -> str:
    """Returns the command lines of a name, each with its answer and exit code."""
    with _terminal_of(width):
        parts = [f"$ kreplica {line}\n{_answer(line)}" for line in COMMANDS[name]]
    still = PROGRESS.sub("", "\n".join(parts))
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]|\r", "", still)


def _answer(line: str) -> str:
    from commands.main import run

    printed = Terminal()
    with redirect_stdout(printed), redirect_stderr(printed):
        code = run(line.split())
    return f"{printed.getvalue()}exit code {code}\n"


@contextmanager
def _terminal_of(width: int) -> Iterator[None]:
    """A folder of its own with the golden files in it, for what the command lines of one name write."""
    from kreplica.history.lives.reading import Lives
    from kreplica.model.snapshot import ClusterSnapshot

    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        contexts = Path(folder) / "none.toml"
        contexts.touch()
        (Path(folder) / "tests").symlink_to(ROOT / "tests")
        variables = {"COLUMNS": str(width), "LINES": "40", "TERM": "xterm", "NO_COLOR": "1"}
        aged, lived = (mock.patch.object(kind, "age_seconds", return_value=AGE) for kind in (ClusterSnapshot, Lives))
        clock = mock.patch("commands.decode.transactions.command.time.time", return_value=NOW)
        homes = {"KREPLICA_CONFIG": "none.toml", "XDG_STATE_HOME": folder}
        progress = mock.patch("commands.shared.printing.progress.Progress.say")
        with mock.patch.dict(os.environ, {**variables, **homes}), aged, lived, clock, progress:
            os.chdir(folder)
            try:
                yield
            finally:
                os.chdir(here)


def main() -> None:
    """Writes every screen."""
    for name in COMMANDS:
        for width in WIDTHS:
            (SCREENS / f"{name}.{width}.txt").write_text(shown(name, width), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
