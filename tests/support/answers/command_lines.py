"""Command lines of every command that answers in forms: ``ANSWERED`` offline, ``LIVE`` in the named file of tests."""

from __future__ import annotations

from pathlib import Path

from kreplica.config.handle import ClusterHandle
from kreplica.execution.rebalance.replicas import PlanFiles, rebalance_replicas
from kreplica.monitoring.snapshots.ingestion import ingest_dumps
from kreplica.planner.reassignment.request import Reason, ReasonKind, Request

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-4.3.1"
BROKER = GOLDEN / "clean" / "broker-1"
COPIES = [GOLDEN / name for name in ("killed-all/broker-1", "killed-all/broker-2", "killed-one/broker-3")]
PARTITION = BROKER / "data" / "payments-2"
FLEET = Path(__file__).parents[3] / "kreplica/data/fleet"

ANSWERED: dict[str, list[str]] = {
    "describe": ["--dump", "sample", "--all"],
    "check": ["--dump", "sample"],
    "recommend": ["--dump", "sample"],
    "imbalance": ["--dump", "sample"],
    "safe-to-stop": ["2", "--dump", "sample"],
    "wait": ["--dump", "sample", "--for", "in-sync", "--broker", "3"],
    "compare": ["dump:sample", "dump:sample-healthy"],
    "disks": ["--dump", "sample"],
    "snapshot": ["--dump", "sample", "--out", "{folder}/dumps"],
    "audit ingest": ["sample", "--into", "{folder}/history"],
    "audit resilience": ["{folder}/kept"],
    "audit incidents": ["{folder}/kept"],
    "audit incident": ["13714d5eae50", "{folder}/kept"],
    "audit slo": ["{folder}/kept"],
    "audit mute": ["under-replicated", "--until", "2099-01-01", "--cluster", "prod-*"],
    "audit mutes": [],
    "audit unmute": ["offline"],
    "history": ["orders-2", "--in", "{folder}/kept"],
    "whatif list": [],
    "whatif show": ["hw-truncation-loss"],
    "whatif run": ["hw-truncation-loss", "--kafka-version", "0.10"],
    "whatif compare": ["hw-truncation-loss", "--kafka-version", "0.10,3.9"],
    "whatif fail": ["--dump", "sample", "--rack", "r1"],
    "whatif models": [],
    "whatif model": ["settings-4.1"],
    "whatif prove": ["--model", "truncate-to-hw", "--replicas", "2", "--log", "1", "--invariant", "weak-isr"],
    "whatif validate": [f"{COPIES[0] / 'data'}"],
    "assign": ["invoices", "--partitions", "6", "--replication-factor", "3", "--dump", "sample-healthy"],
    "roll plan": ["--dump", "sample"],
    "rebalance leaders": ["--dump", "sample"],
    "rebalance replicas": ["--repair", "3", "--dump", "sample"],
    "rebalance rehearse": ["{folder}/moves.json", "--dump", "sample-healthy", "--runs", "2"],
    "rebalance verify": ["{folder}/moves.json", "--dump", "sample"],
    "decode offsets": [f"{BROKER}"],
    "decode segment": [f"{PARTITION}"],
    "decode transactions": [f"{BROKER}"],
    "decode metadata": [f"{COPIES[0] / 'data'}"],
    "decode checkpoints": [f"{BROKER}"],
    "decode indexes": [f"{PARTITION}"],
    "decode check": ["{folder}/damaged"],
    "decode compare": [*map(str, COPIES)],
    "config init": ["--config", "{folder}/new.toml"],
    "config list": ["--config", "{folder}/contexts.toml"],
    "config use": ["one", "--config", "{folder}/contexts.toml"],
    "config show": ["one", "--config", "{folder}/contexts.toml"],
}

LIVE = {
    "audit": "tests/spark/test_audit_command.py",
    "audit prepare": "tests/spark/test_audit_prepare.py",
    "roll next": "tests/cli/before_a_change/test_roll.py",
    "rebalance apply": "tests/kafka/changes/test_plans.py",
    "rebalance status": "tests/kafka/changes/test_plans.py",
    "rebalance resume": "tests/kafka/changes/test_plans.py",
    "rebalance cancel": "tests/cli/rebalance/test_plans.py",
    "rebalance rollback": "tests/kafka/changes/test_plans.py",
    "rebalance throttle": "tests/unit/commands/rebalance/test_throttle.py",
    "rebalance throttles": "tests/unit/commands/rebalance/test_throttles.py",
    "config check": "tests/kafka/stories/test_security_story.py",
    "sandbox start": "tests/kafka/sandbox/test_sandbox_command.py",
    "sandbox stop": "tests/kafka/sandbox/test_sandbox_command.py",
    "sandbox status": "tests/kafka/sandbox/test_sandbox_command.py",
    "sandbox kill": "tests/kafka/sandbox/test_sandbox_command.py",
    "sandbox pause": "tests/kafka/sandbox/test_sandbox_command.py",
    "sandbox resume": "tests/kafka/sandbox/test_sandbox_command.py",
    "sandbox start-broker": "tests/kafka/sandbox/test_sandbox_command.py",
    "sandbox topic": "tests/kafka/sandbox/test_sandbox_command.py",
    "sandbox load": "tests/kafka/sandbox/test_sandbox_command.py",
}

MUTED = '[[mutes]]\nrule = "offline"\nuntil = 2099-01-01T00:00:00Z\nmuted_at = 2026-03-01T12:00:00Z\n'


def words(command: str, folder: Path) -> list[str]:
    """The command line of one command, in a folder that ``prepare`` filled."""
    return [*command.split(), *(word.replace("{folder}", str(folder)) for word in ANSWERED[command])]


def prepare(folder: Path) -> None:
    """Writes what the command lines read: contexts, mutes, a damaged log directory, a plan of moves, a history."""
    (folder / "mutes.toml").write_text(MUTED, encoding="utf-8")
    ingest_dumps(sorted(FLEET.glob("manifests/*i0iQ6TlnRRmrapXchcJ1Uw*.json"))[:2], folder / "kept")
    healthy = ClusterHandle("sample-healthy", dump="sample-healthy")
    drained = Request((Reason(ReasonKind.DRAIN, (1,)),), topics="two-copies")
    rebalance_replicas(healthy, drained, files=PlanFiles(folder / "moves.json"))
    (folder / "contexts.toml").write_text('[contexts.one]\nbootstrap_servers = "127.0.0.1:1"\n', encoding="utf-8")
    damaged = folder / "damaged" / "payments-0"
    damaged.mkdir(parents=True)
    (folder / "damaged" / "meta.properties").write_text("version=1\nnode.id=1\n", encoding="utf-8")
    (damaged / f"{0:020}.log").write_bytes(b"no batch")
