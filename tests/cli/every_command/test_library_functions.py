"""Every command from Python: each function of the library against the JSON of its command.

``FUNCTIONS`` has the function that gives what a command gives; a command without one stands in ``NO_FUNCTION`` with the
reason, one that steers real processes in ``LIVE_FUNCTIONS``. A new command has to be in one of them.
"""

from __future__ import annotations

import json
import pkgutil
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from answers.command_lines import ANSWERED, BROKER, COPIES, MUTED, PARTITION, prepare
from clusters.paper import PaperCluster, away

import kreplica as library
from commands.completions.tree import Command, command_tree
from commands.config.check import permission_uses
from commands.main import build_app
from kreplica.config.mutes import read_mutes
from kreplica.execution.journal import JOURNAL, Event, Result, entry
from kreplica.execution.plan import plan_leaders
from kreplica.execution.plan_file import read_plan, write_plan
from kreplica.execution.plan_journal import Operation
from kreplica.monitoring import clusters
from kreplica.planner.preferred_leaders import plan_elections
from kreplica.planner.reassignment.request import Reason, ReasonKind, Request
from kreplica.sources.kafka import access as kafka_access
from kreplica.sources.kafka.access import Access

SAMPLE = library.ClusterHandle("sample", dump="sample")
LIVE = library.ClusterHandle("played:9092", "played:9092")
PAPER = library.ClusterHandle("paper:9092", "paper:9092")
ON_PAPER = ["--bootstrap-server", "paper:9092"]
LINES = {
    **ANSWERED,
    "decode transactions": [f"{BROKER}", "--as-of-time", "2099-01-01"],
    "roll next": ["{folder}/roll.json", "--bootstrap-server", "played:9092", "--settle", "0"],
    "config check": ["two", "--config", "{folder}/two.toml"],
    "rebalance leaders": [*ON_PAPER, "--execute", "--batch", "1"],
    "rebalance apply": ["{folder}/plan.json", *ON_PAPER, "--execute"],
    "rebalance status": ["{folder}/begun.json", *ON_PAPER],
    "rebalance resume": ["{folder}/begun.json", *ON_PAPER, "--execute"],
    "rebalance cancel": ["{folder}/begun.json", "--execute"],
    "rebalance rollback": ["{folder}/begun.json", *ON_PAPER, "--execute", "--allow-reorder"],
}
"""Command lines: the usual ones, but for those whose answers hang on the clock or on a live cluster.

What is carried out is done to a cluster on paper, and once more by the function, to the same cluster as it was before.
"""
YEAR_2099 = 4070908800000

NO_FUNCTION = {
    "audit": "Spark judges, which the library does not import: analyzers.fleet_audit, compared in tests/spark",
    "audit prepare": "of Spark, too: analyzers.preparing, run in tests/spark/test_audit_prepare.py",
    "completions": "prints words for a shell",
}

LIVE_FUNCTIONS = {
    f"sandbox {name}": "tests/kafka/sandbox/test_sandbox_functions.py"
    for name in ("start", "stop", "status", "kill", "pause", "resume", "start-broker", "topic", "load", "tool")
} | {f"rebalance {name}": f"tests/unit/commands/rebalance/test_{name}.py" for name in ("throttle", "throttles")}
"""Commands whose functions are compared with them elsewhere, as they need brokers: the file that does it."""


@dataclass(frozen=True)
class Given:
    """Result of a function.

    Args:
        rows: The rows, with every field that the command's have; None where the command gives none of the same.
        exit_code: Exit code of the command; None where the function knows none.
        summary: Numbers that the summary has, too.
        beside: The same of an object beside the rows, by name.
    """

    rows: list[Any] | None
    exit_code: int | None = None
    summary: dict[str, Any] = field(default_factory=dict)
    beside: dict[str, dict[str, Any]] = field(default_factory=dict)


FUNCTIONS: dict[str, Callable[[Path], Given]] = {}


def gives(command: str) -> Callable[[Callable[[Path], Given]], Callable[[Path], Given]]:
    """Enters a function for a command; it takes the folder of the test."""

    def enter(function: Callable[[Path], Given]) -> Callable[[Path], Given]:
        FUNCTIONS[command] = function
        return function

    return enter


@gives("describe")
def describe(_: Path) -> Given:
    found = library.describe([SAMPLE])
    return Given(found.rows, summary={"counts": found.counts, "complete": not found.missing})


@gives("audit ingest")
def audit_ingest(folder: Path) -> Given:
    found = library.ingest_dumps([Path(library.__file__).parent / "data" / "fleet"], folder / "again")
    return Given(found.rows, found.exit_code, {"added": 12, "nameless": 0, "unread": 0, "months_dropped": 0})


@gives("audit resilience")
def audit_resilience(folder: Path) -> Given:
    found = library.resilience_in(folder / "kept")
    harmful = sum(row.harms for row in found.rows)
    return Given(found.rows, found.exit_code, {"losses": 6, "harmful": harmful, "left_out": 0, "paused_seconds": 0})


@gives("audit incidents")
def audit_incidents(folder: Path) -> Given:
    found = library.incidents_in(folder / "kept", mutes=read_mutes(folder / "mutes.toml"))
    return Given(found.rows, found.exit_code(), {"incidents": 2, "planned": 0, "snapshots": 2})


@gives("audit incident")
def audit_incident(folder: Path) -> Given:
    found = library.incident_in(folder / "kept", "13714d5eae50", mutes=read_mutes(folder / "mutes.toml"))
    return Given(found.rows, found.exit_code, {"findings": len(found.rows)})


@gives("audit slo")
def audit_slo(folder: Path) -> Given:
    found = library.outages_in(folder / "kept")
    missed = sum(row.standing == "missed" for row in found.rows)
    return Given(found.rows, found.exit_code, {"objective": 99.95, "missed": missed, "left_out": 0})


@gives("audit mute")
def audit_mute(_: Path) -> Given:
    found = library.mute_rule("under-replicated", datetime(2099, 1, 1, tzinfo=UTC), cluster="prod-*")
    return Given(found.rows, found.exit_code, {"mutes": 1, "in_force": 1, "file": str(found.path)})


@gives("audit mutes")
def audit_mutes(folder: Path) -> Given:
    found = library.list_mutes()
    return Given(found.rows, found.exit_code, {"file": str(folder / "mutes.toml")})


@gives("audit unmute")
def audit_unmute(folder: Path) -> Given:
    (folder / "mutes.toml").write_text(MUTED, encoding="utf-8")
    found = library.unmute_rule("offline", environ={"KREPLICA_CONFIG": str(folder / "contexts.toml")})
    return Given(found.rows, found.exit_code, {"mutes": 1})


@gives("history")
def history(folder: Path) -> Given:
    found = library.lives_in(folder / "kept", "orders-2")
    return Given(found.rows, found.exit_code, {"of": "orders-2", "snapshots": 2, "left_out": 0})


@gives("check")
def check(_: Path) -> Given:
    checked = library.check([SAMPLE])
    return Given(checked.rows, checked.exit_code, {"findings": len(checked.rows), "complete": not checked.missing})


@gives("recommend")
def recommend(_: Path) -> Given:
    found = library.recommend([SAMPLE])
    return Given(found.rows, found.exit_code, {"recommendations": len(found.rows)})


@gives("imbalance")
def imbalance(_: Path) -> Given:
    found = library.imbalance([SAMPLE])
    (one,) = (cluster.imbalance for cluster in found.clusters)
    numbers = {"imbalance_count": len(one.partitions), "electable": one.electable, "unknown": one.unknown}
    return Given(found.rows, found.exit_code, numbers)


@gives("disks")
def disks(_: Path) -> Given:
    found = library.disks([SAMPLE])
    return Given(found.rows, found.exit_code, {"log_dirs": len(found.rows)})


@gives("safe-to-stop")
def safe_to_stop(_: Path) -> Given:
    verdict = library.safe_to_stop(SAMPLE, [2])
    judgement = verdict.last.judgement
    numbers = {"brokers": judgement.brokers, "partitions": judgement.partitions, "changed": verdict.changes}
    return Given(list(verdict.rows), verdict.exit_code, numbers)


@gives("wait")
def wait(_: Path) -> Given:
    found = library.wait(SAMPLE, library.Goal.IN_SYNC, [3])
    return Given(found.rows, found.exit_code, {"reached": found.reached, "not_up": found.left.down})


@gives("snapshot")
def snapshot(folder: Path) -> Given:
    found = library.take_snapshots([SAMPLE], folder / "taken")
    return Given(list(found.rows), found.exit_code, found.counts)


@gives("whatif list")
def whatif_list(_: Path) -> Given:
    found = library.whatif_list()
    return Given(found.rows, found.exit_code, {"scenarios": len(found.rows)})


@gives("whatif show")
def whatif_show(_: Path) -> Given:
    found = library.whatif_show("hw-truncation-loss")
    return Given(found.rows, found.exit_code, beside={"scenario": dict(found.facts)})


@gives("whatif models")
def whatif_models(_: Path) -> Given:
    found = library.whatif_models()
    return Given(list(found.rows), found.exit_code, {"models": len(found.rows)})


@gives("whatif model")
def whatif_model(_: Path) -> Given:
    found = library.whatif_model("settings-4.1")
    return Given(found.rows, found.exit_code, beside={"model": dict(found.facts)})


@gives("whatif run")
def whatif_run(_: Path) -> Given:
    run = library.play(library.scenario_named("hw-truncation-loss"), "0.10")
    numbers = {"events": run.outcome.events, "trace_hash": run.outcome.trace_hash}
    return Given(list(library.timeline(run)), summary=numbers, beside={"outcome": library.outcome_row(run)})


@gives("whatif compare")
def whatif_compare(_: Path) -> Given:
    scenario = library.scenario_named("hw-truncation-loss")
    found = library.compare_runs(scenario, [("0.10", {}), ("3.9", {})])
    return Given(found.rows, found.exit_code, {"runs": len(found.runs)})


@gives("whatif fail")
def whatif_fail(_: Path) -> Given:
    outcome = library.whatif_fail(SAMPLE, library.FailureCase(racks=("r1",)))
    return Given(outcome.rows, outcome.exit_code, {"brokers": outcome.played.target.brokers})


@gives("whatif prove")
def whatif_prove(_: Path) -> Given:
    proof = library.whatif_prove("truncate-to-hw", library.Bounds(2, 1, 2, 2), ("weak-isr",))
    verdict = {**proof.verdict}
    del verdict["seconds"]
    return Given(proof.rows, proof.exit_code, {"distinct": proof.found.distinct}, {"verdict": verdict})


@gives("whatif validate")
def whatif_validate(_: Path) -> Given:
    found = library.whatif_validate([str(COPIES[0] / "data")])
    return Given(found.rows, found.exit_code, {"explained": sum(found.counts.values())})


@gives("compare")
def compare(_: Path) -> Given:
    found = library.compare_clusters(SAMPLE, library.ClusterHandle("sample-healthy", dump="sample-healthy"))
    numbers = {"partitions": found.comparison.partitions, "brokers": found.comparison.brokers, "passing": found.passing}
    return Given(list(found.rows), found.exit_code, numbers)


@gives("assign")
def assign(_: Path) -> Given:
    found = library.assign(library.ClusterHandle("sample-healthy", dump="sample-healthy"), "invoices", 6, 3)
    numbers = {"algorithm": found.placement.algorithm, "seed": found.placement.seed}
    return Given(list(found.rows), found.exit_code, numbers)


@gives("roll plan")
def roll_plan(folder: Path) -> Given:
    planned = library.roll_plan(SAMPLE, out=folder / "planned.json")
    plan = planned.plan
    return Given(planned.rows, planned.exit_code, {"waves": plan.waves, "proven": plan.proven, "down": plan.down})


@gives("roll next")
def roll_next(folder: Path) -> Given:
    found = library.roll_next(LIVE, folder / "again.json", settle=0)
    rows = [{"node": node, "wave": found.state.wave, "state": state} for node, state in found.state.states.items()]
    return Given(rows, found.exit_code, {"verdict": found.word, "restart": found.restart})


@gives("rebalance replicas")
def rebalance_replicas(_: Path) -> Given:
    found = library.rebalance_replicas(SAMPLE, Request((Reason(ReasonKind.REPAIR, (3,)),)))
    numbers = {"moves": found.moves, "bytes": found.bytes, "leader_changes": found.leader_changes}
    return Given(found.rows, found.exit_code, numbers)


@gives("rebalance verify")
def rebalance_verify(folder: Path) -> Given:
    found = library.rebalance_verify(SAMPLE, folder / "moves.json")
    return Given(found.rows, found.exit_code, {"verdict": found.word, "optimal": found.certificate.optimal})


@gives("rebalance rehearse")
def rebalance_rehearse(folder: Path) -> Given:
    healthy = library.ClusterHandle("sample-healthy", dump="sample-healthy")
    found = library.rebalance_rehearse(healthy, folder / "moves.json", library.RehearseOptions(runs=2))
    numbers = {"verdict": found.word, "failing": found.failing, "unwritten_ms": found.unwritten_ms}
    return Given(found.rows, found.exit_code, numbers)


@gives("rebalance leaders")
def rebalance_leaders(folder: Path) -> Given:
    lead_away(folder)
    options = library.RebalanceOptions(library.Pace(batch=1))
    found = library.rebalance_leaders(PAPER, options, execute=True)
    return Given(found.rows, found.exit_code, {"executed": found.executed, "stopped": found.stopped})


def of_plan(outcome: Any) -> Given:
    told = {"executed": outcome.executed, "phase": outcome.state.progress.phase, "done": outcome.counts["done"]}
    return Given(outcome.rows, outcome.exit_code, told)


@gives("rebalance apply")
def rebalance_apply(folder: Path) -> Given:
    lead_away(folder)
    return of_plan(library.rebalance_apply(PAPER, folder / "plan-again.json", execute=True))


@gives("rebalance status")
def rebalance_status(folder: Path) -> Given:
    return of_plan(library.rebalance_status(PAPER, folder / "begun.json"))


@gives("rebalance resume")
def rebalance_resume(folder: Path) -> Given:
    lead_away(folder)
    return of_plan(library.rebalance_resume(PAPER, folder / "begun-again.json", execute=True))


@gives("rebalance cancel")
def rebalance_cancel(folder: Path) -> Given:
    return of_plan(library.rebalance_cancel(folder / "begun-again.json", execute=True))


@gives("rebalance rollback")
def rebalance_rollback(folder: Path) -> Given:
    lead_away(folder)
    begun = folder / "begun-again.json"
    return of_plan(library.rebalance_rollback(PAPER, begun, execute=True, allow_reorder=True))


@gives("decode offsets")
def decode_offsets(_: Path) -> Given:
    found = library.decode_offsets([str(BROKER)])
    return Given(list(found.rows), found.exit_code, {"partitions_missing": found.missing, "expired": found.expired})


@gives("decode transactions")
def decode_transactions(_: Path) -> Given:
    then = library.AsOf(timestamp=YEAR_2099)
    found = library.decode_transactions([str(BROKER)], library.TransactionQuestion(YEAR_2099, then))
    return Given(list(found.rows), found.exit_code, {"open": found.open, "overdue": found.overdue})


@gives("decode metadata")
def decode_metadata(_: Path) -> Given:
    found = library.decode_metadata([str(COPIES[0] / "data")])
    return Given(found.rows, found.exit_code, {"next_offset": found.replay.image.next_offset})


@gives("decode checkpoints")
def decode_checkpoints(_: Path) -> Given:
    found = library.decode_checkpoints([str(BROKER)])
    return Given(list(found.rows), found.exit_code)


@gives("decode indexes")
def decode_indexes(_: Path) -> Given:
    found = library.decode_indexes([str(PARTITION)])
    return Given(list(found.rows), found.exit_code, {"files": len(found.files)})


@gives("decode segment")
def decode_segment(_: Path) -> Given:
    found = library.decode_segment([str(PARTITION)])
    rows = list(found.batch_rows())
    return Given(rows, found.exit_code, {"batches": found.batches, "records": found.records})


@gives("decode check")
def decode_check(folder: Path) -> Given:
    found = library.decode_check([str(folder / "damaged")])
    return Given(list(found.rows), found.exit_code, {"replicas": len(found.folders)})


@gives("decode compare")
def decode_compare(_: Path) -> Given:
    found = library.decode_compare(list(map(str, COPIES)))
    return Given(found.rows(), found.exit_code, found.counts)


@gives("config init")
def config_init(folder: Path) -> Given:
    (folder / "new.toml").unlink()
    found = library.config_init(str(folder / "new.toml"), environ={})
    return Given(found.rows, found.exit_code)


@gives("config list")
def config_list(folder: Path) -> Given:
    found = library.config_list(str(folder / "contexts.toml"), environ={})
    return Given(found.rows, found.exit_code, {"contexts": len(found.rows), "file": str(found.file.path)})


@gives("config use")
def config_use(folder: Path) -> Given:
    found = library.config_use("one", str(folder / "contexts.toml"), environ={})
    return Given(found.rows, found.exit_code, {"current": found.file.current})


@gives("config show")
def config_show(folder: Path) -> Given:
    found = library.config_show(["one"], str(folder / "contexts.toml"), environ={})
    return Given(list(found.rows), found.exit_code)


@gives("config check")
def config_check(folder: Path) -> Given:
    found = library.config_check(["two"], str(folder / "two.toml"), uses=permission_uses(), environ={})
    return Given(list(found.rows), found.exit_code, found.counts)


TREE = [each for each in command_tree(build_app()).walk() if each.runs]


def path_of(command: Command) -> str:
    return " ".join(command.path[1:])


def test_every_command_has_a_function_or_a_reason() -> None:
    told = [*FUNCTIONS, *LIVE_FUNCTIONS, *NO_FUNCTION]
    differing = set(told) ^ {path_of(command) for command in TREE}
    assert not differing, f"compare the command with its function here, or give the reason in NO_FUNCTION: {differing}"
    assert len(told) == len(set(told))


def test_commands_that_need_real_processes_are_compared_elsewhere(root: Path) -> None:
    for command, file in LIVE_FUNCTIONS.items():
        _, name = command.split()
        assert f'"{name}"' in (root / file).read_text(encoding="utf-8"), f"{file} does not run {command}"


def lead_away(folder: Path) -> None:
    """Two leaders of the cluster on paper are away, one that the plan which was begun has brought back."""
    rows = away(0, 1, 3)
    rows[3] |= {"leader": rows[3]["replicas"][0], "leader_epoch": 6}
    PaperCluster(folder / "cluster.json").write(rows)


@pytest.fixture
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster on paper, a plan of its elections, and one of which the first step was done; each of them twice."""
    paper = PaperCluster(tmp_path / "cluster.json")
    paper.stand_in(monkeypatch.setattr)
    paper.write(away(0, 1, 3))
    snapshot, path = paper.read_snapshot(), tmp_path / "begun.json"
    write_plan(plan_leaders(snapshot, plan_elections(snapshot), "2026-03-01T12:00:00+00:00", 1), path)
    plan, digest = read_plan(path)
    (done,) = (step for step in plan.steps if step.changes[0].partition == 3)
    result = Result("orders", 3, plan.facts["orders", 3].replicas[0], done=True)
    with JOURNAL.open(path, plan, digest) as journal:
        journal.append(entry(Event.STARTED, Operation.APPLY))
        journal.append(entry(Event.FINISHED, Operation.APPLY, step=done.number, results=(result,)))
    lead_away(tmp_path)
    snapshot, path = paper.read_snapshot(), tmp_path / "plan.json"
    write_plan(plan_leaders(snapshot, plan_elections(snapshot), "2026-03-01T12:00:00+00:00"), path)
    for name in ("plan.json", "begun.json", "begun.json.journal"):
        shutil.copy(tmp_path / name, tmp_path / name.replace(".json", "-again.json"))


@pytest.fixture
def let_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A context with a property that no client knows, whose cluster tells its user which operations he may do."""
    topics = {"t": frozenset({"Describe", "DescribeConfigs"}), "u": frozenset({"Describe"})}
    access = Access("b1:9092", "User:carol", "c", "4.0", 25, 3, cluster=frozenset({"Describe"}), topics=topics)
    monkeypatch.setattr(kafka_access, "read_access", lambda _: access)
    text = '[contexts.two]\nbootstrap_servers = "127.0.0.1:1"\n[contexts.two.properties]\n"no.such.key" = "1"\n'
    (tmp_path / "two.toml").write_text(text, encoding="utf-8")


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Live clusters: one that is as a packaged dump says, and one on paper."""
    read = clusters.read_snapshot

    def play(handle: library.ClusterHandle, *wanted: Any) -> library.ClusterSnapshot:
        if handle.bootstrap_servers is None:
            return read(handle, *wanted)
        if handle.bootstrap_servers == PAPER.bootstrap_servers:
            return PaperCluster(tmp_path / "cluster.json").read_snapshot()
        dump = replace(handle, bootstrap_servers=None, dump="sample-healthy")
        return replace(read(dump, *wanted), name=handle.name, dumped=False)

    monkeypatch.setattr(clusters, "read_snapshot", play)


@pytest.mark.usefixtures("played", "plans", "let_in")
@pytest.mark.parametrize("command", FUNCTIONS)
def test_a_function_gives_what_its_command_gives(kreplica: Any, tmp_path: Path, command: str) -> None:
    prepare(tmp_path)
    library.roll_plan(LIVE, options=library.RollOptions(accept_topics=".*"), out=tmp_path / "roll.json")
    shutil.copy(tmp_path / "roll.json", tmp_path / "again.json")
    line = [*command.split(), *(word.replace("{folder}", str(tmp_path)) for word in LINES[command])]
    ended = kreplica(*line, "-o", "json")
    document, given = ended.document, FUNCTIONS[command](tmp_path)
    if given.rows is not None:
        (found,) = (some for name, some in document.items() if name not in ENVELOPE and isinstance(some, list))
        rows, told = plain(given.rows), [each.keys() - NEW_EACH_TIME.get(command, set()) for each in found]
        assert told, "an answer without rows compares nothing"
        assert [{name: row[name] for name in names} for row, names in zip(rows, told, strict=True)] == [
            {name: row[name] for name in names} for row, names in zip(found, told, strict=True)
        ]
    summary, beside = plain(given.summary), plain(given.beside)
    assert {name: document["summary"][name] for name in summary} == summary
    assert {name: {key: document[name][key] for key in told} for name, told in beside.items()} == beside
    assert given.exit_code in (None, ended.code)
    assert given.rows is not None or summary or beside


ENVELOPE = ("clusters", "warnings")
NEW_EACH_TIME = {"snapshot": {"bytes", "manifest"}, "audit mute": {"muted_at"}}
"""Fields that differ between two runs of one command."""


def plain(value: object) -> Any:
    """A value as JSON has it."""
    return json.loads(msgspec.json.encode(value))


def test_every_function_of_the_table_is_public() -> None:
    """Names that ``import kreplica`` offers stand in the modules that it names for them."""
    assert [name for name in library.__all__ if not hasattr(library, name)] == []


def test_the_page_names_a_function_for_each_command(root: Path) -> None:
    page = (root / "docs" / "library.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| `([\w -]+)` \| (.*) \|$", page, re.MULTILINE))
    differing = table.keys() ^ (FUNCTIONS.keys() | LIVE_FUNCTIONS.keys())
    assert not differing, f"name the function in the table of docs/library.md: {differing}"
    named = {name for cell in table.values() for name in re.findall(r"`(\w+)`", cell)}
    assert named <= set(library.__all__)
    dotted = {name for cell in table.values() for name in re.findall(r"`(kreplica\.[\w.]+)`", cell)}
    assert dotted, "the sandbox is a package of its own"
    for name in dotted:
        assert callable(pkgutil.resolve_name(name)), name
