"""kreplica rebalance replicas as a user runs it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from commands.main import run
from commands.rebalance.replicas.screen import bar_of, broker_bars
from kreplica.execution.digest import write_document
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import LOG_DIRS, PARTITIONS, QUORUM, REPLICAS
from kreplica.model.tables.table import Table
from kreplica.planner.reassignment.moves.effects import BrokerEffect
from kreplica.sources.dumps.dump import read_dump, read_sample
from kreplica.store.writing import write_snapshot

HEALTHY = ["--dump", "sample-healthy"]


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = run(["rebalance", "replicas", *words, "-o", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_leaders_are_spread_evenly_without_a_move(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = ask(capsys, "--balance", "leaders", *HEALTHY)
    assert code == 0
    assert (document["summary"]["moves"], document["summary"]["bytes"]) == (0, 0)
    led: Counter[int] = Counter()
    changed = {(row["topic"], row["partition"]): row["to_replicas"] for row in document["moves"]}
    partitions = read_sample("sample-healthy").partitions
    for row in partitions.rows():
        led[changed.get((row["topic"], row["partition"]), row["replicas"])[0]] += 1
    assert max(led.values()) - min(led.values()) <= 1


def test_a_repair_names_what_it_cannot_do(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = ask(capsys, "--repair", "3", "--dump", "sample")
    assert code == 1
    planned = [row for row in document["moves"] if row["planned"]]
    assert [(row["topic"], row["adding"], row["removing"]) for row in planned] == [("two-copies", [2], [3])]
    assert all(row["reason"] for row in document["moves"] if not row["planned"])
    assert document["summary"]["leaderless"] == ["single-copy-0", "single-copy-2"]


def test_the_file_for_kafkas_tool_comes_back_as_the_same_plan(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "moves.json"
    _, first = ask(capsys, "--balance", "leaders", *HEALTHY, "--reassignment-json", str(file))
    assert json.loads(file.read_text(encoding="utf-8"))["version"] == 1
    code, second = ask(capsys, "--from-reassignment-json", str(file), *HEALTHY)
    assert code == 0
    assert second["moves"] == first["moves"]
    assert run(["rebalance", "replicas", "--rack-aware", *HEALTHY, "--reassignment-json", str(file)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert run(["rebalance", "replicas", "--rack-aware", *HEALTHY, "--reassignment-json", str(file), "--force"]) == 0
    assert json.loads(file.read_text(encoding="utf-8"))["partitions"] == []


def test_the_same_question_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "rebalance",
        "replicas",
        "--balance",
        "leaders",
        "--balance",
        "count",
        *HEALTHY,
        "--seed",
        "3",
        "-o",
        "csv",
    ]
    answers = []
    for _ in range(2):
        run(words)
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]


def test_limits_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--balance", "leaders", *HEALTHY, "--max-leader-changes", "2", "--max-moves", "0", "--max-bytes", "1"]
    code, document = ask(capsys, *words)
    assert (code, document["summary"]["leader_changes"]) == (1, 2)
    reasons = {row["reason"] for row in document["moves"] if not row["planned"]}
    assert reasons == {"above --max-leader-changes 2"}


def test_topics_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    _, document = ask(capsys, "--balance", "leaders", *HEALTHY, "--topic", "__.*", "--exclude-topic", ".*offsets")
    assert {row["topic"] for row in document["moves"]} <= {"__transaction_state", "__share_group_state"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no reason to move replicas is given"),
        (["--drain", "9"], "no broker 9"),
        (["--drain", "1,2,3"], "no broker may receive a replica"),
        (["--add", "x"], "--add"),
        (["--rack-aware", "--to", "7"], "no broker 7"),
        (["--rack-aware", "--exclude-broker", "8"], "no broker 8"),
        (["--rack-aware", "--topic", "nothing"], "no topic is left"),
        (["--replication-factor", "0"], "--replication-factor"),
        (["--balance", "colour"], "--balance"),
        (["--balance", "weights"], "--weights and --balance weights belong together"),
        (["--rack-aware", "--weights", "no-such-file"], "belong together"),
        (["--balance", "weights", "--weights", "no-such-file"], "cannot read no-such-file"),
        (["--rack-aware", "--max-bytes", "much"], "--max-bytes much is no size"),
        (["--rack-aware", "--throttle", "-1"], "--throttle -1 is no size"),
        (["--relieve", "3", "--to-used", "0"], "--to-used"),
        (["--relieve", "3", "--to-used", "70%%"], "--to-used 70%% is no share"),
        (["--rack-aware", "--margin", "-1"], "--margin"),
        (["--relieve", "3:"], "names no log directory"),
        (["--relieve", "x:/data"], "--relieve"),
        (["--relieve", "3:/no-such-directory"], "log directory /no-such-directory of known capacity is needed"),
        (["--drain", "3", "--max-disk-used", "101"], "--max-disk-used"),
        (["--rack-aware", "--from-reassignment-json", "no-such-file"], "exclude each other"),
        (["--from-reassignment-json", "no-such-file"], "cannot read no-such-file"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rebalance", "replicas", *words, *HEALTHY]) == 2
    assert said in capsys.readouterr().err


def test_a_file_with_an_unknown_broker_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "moves.json"
    partition = {"topic": "orders", "partition": 0, "replicas": [1, 9]}
    file.write_text(json.dumps({"version": 1, "partitions": [partition]}), encoding="utf-8")
    assert run(["rebalance", "replicas", "--from-reassignment-json", str(file), *HEALTHY]) == 2
    assert "no broker 9" in capsys.readouterr().err


DRAINED = ["--drain", "1", "--topic", "two-copies", *HEALTHY]


def test_a_plan_is_proven_and_verified(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    code, document = ask(capsys, *DRAINED, "--prove", "--out", str(plan))
    assert code == 0
    number, size = document["summary"]["bounds"]
    assert (number["value"], number["bound"], number["optimal"], size["optimal"]) == (2, 2, True, True)
    assert run(["rebalance", "verify", str(plan), *HEALTHY]) == 0
    assert capsys.readouterr().out.startswith("HOLDS the plan is legal; no plan takes less\n")
    # The other sample is the same cluster after broker 3 died: the plan no longer fits it.
    assert run(["rebalance", "verify", str(plan), "--dump", "sample"]) == 1
    assert capsys.readouterr().out.startswith("FAILS ")


def test_a_plan_that_was_carried_out_is_proven_of_the_cluster_before(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan, after = tmp_path / "plan.json", tmp_path / "after"
    assert run(["rebalance", "replicas", "--drain", "1", "--topic", "two-copies", *HEALTHY, "--out", str(plan)]) == 0
    snapshot = read_dump("sample-healthy")
    rows = [dict(row) for row in snapshot.partitions.rows()]
    for row in rows:
        if row["topic"] == "two-copies" and row["partition"] == 0:
            row["replicas"] = [3, 2]
    write_snapshot(replace(snapshot, partitions=Table.from_rows(PARTITIONS, rows)), after)
    capsys.readouterr()
    assert run(["rebalance", "verify", str(plan), "--dump", str(after)]) == 2
    assert "error: 1 of 2 changes of the plan is made already; it was proven for" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda bound: bound.update(value=3, lower_bound=3), "the plan has 2, not 3"),
        (lambda bound: bound.update(value=0, lower_bound=0), "the plan has 2, not 0"),
    ],
)
def test_a_forged_certificate_is_found(
    change: Any, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    ask(capsys, *DRAINED, "--out", str(plan))
    document = json.loads(plan.read_text(encoding="utf-8"))
    document.pop("digest")
    change(document["certificate"]["bounds"][0])
    plan.unlink()
    write_document(document, plan)
    assert run(["rebalance", "verify", str(plan), *HEALTHY]) == 1
    assert said in " ".join(capsys.readouterr().out.split())


def test_a_plan_of_a_file_is_legal_and_proves_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan, moves = tmp_path / "plan.json", tmp_path / "moves.json"
    _, reasoned = ask(capsys, *DRAINED, "--reassignment-json", str(moves))
    named = ["--from-reassignment-json", str(moves), *HEALTHY, "--out", str(plan)]
    _, document = ask(capsys, *named)
    values = [bound["value"] for bound in document["summary"]["certificate"]["bounds"]]
    assert values == [reasoned["summary"]["moves"], reasoned["summary"]["bytes"]]
    assert run(["rebalance", "verify", str(plan), *HEALTHY]) == 0
    assert capsys.readouterr().out.startswith(
        "HOLDS the plan is legal; a file named its replicas: nobody said what for"
    )
    written = json.loads(plan.read_text(encoding="utf-8"))
    del written["digest"]
    plan.unlink()
    write_document({**written, "certificate": None}, plan)
    assert run(["rebalance", "verify", str(plan), *HEALTHY]) == 2
    assert "it carries no certificate: an older kreplica made it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "said"), [("/none", "broker 3 has no log directory /none, but /empty, /full"), ("/empty", None)]
)
def test_a_directory_that_a_file_names_has_to_be_there(
    path: str, said: str | None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    dump, file = two_directories(tmp_path), tmp_path / "moves.json"
    row = next(one for one in read_dump(dump).partitions.rows() if one["replicas"] == [1, 2])
    wanted = {"topic": row["topic"], "partition": row["partition"], "replicas": [1, 3], "log_dirs": ["any", path]}
    file.write_text(json.dumps({"version": 1, "partitions": [wanted]}), encoding="utf-8")
    code, document = ask(capsys, "--from-reassignment-json", str(file), "--dump", dump)
    assert (code, [one["reason"] for one in document["moves"]]) == (int(said is not None), [said])


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        (["--balance", "leaders"], "no plan takes less"),
        (["--balance", "bytes"], "it misses some of what was wanted, and bounds are those of plans that miss as much"),
        (["--relieve", "3", "--to-used", "1", "--max-disk-used", "100"], "it misses some of what was wanted"),
        (["--balance", "topic"], "2 replicas above a share of the topic, or missing to one"),
        (
            ["--drain", "1", "--topic", "two-copies", "--max-moves", "1"],
            "moves: 2, at least 2; planned 1, which leaves 1, at least 1",
        ),
    ],
)
def test_plans_of_any_reason_are_verified(
    reasons: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    run(["rebalance", "replicas", *reasons, *HEALTHY, "--out", str(plan)])
    capsys.readouterr()
    assert run(["rebalance", "verify", str(plan), *HEALTHY]) == 0
    assert said in " ".join(capsys.readouterr().out.split())


def test_weights_decide_what_is_even(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One partition that all the weight is on: it cannot be spread, and that is said."""
    weights = tmp_path / "weights.csv"
    weights.write_text("topic,partition,weight\ntwo-copies,0,30000\n", encoding="utf-8")
    code, document = ask(capsys, "--balance", "weights", "--weights", str(weights), *HEALTHY)
    (bound,) = document["summary"]["bounds"]
    assert (code, bound["goal"], bound["optimal"]) == (1, "balance weights", False)
    assert "more than 10% from the mean" in bound["short"]
    weights.write_text("topic,partition,weight\nno-such-topic,0,1\n", encoding="utf-8")
    assert run(["rebalance", "replicas", "--balance", "weights", "--weights", str(weights), *HEALTHY]) == 2
    assert "no partition no-such-topic-0" in capsys.readouterr().err


def test_disks_that_are_not_known_take_nothing_unasked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = (
        "".join(f"Topic: orders\tPartition: {number}\tLeader: 1\tReplicas: 1\tIsr: 1\n" for number in range(4))
        + "Topic: orders\tPartition: 4\tLeader: 2\tReplicas: 2\tIsr: 2\n"
    )
    dump = tmp_path / "describe.txt"
    dump.write_text(text, encoding="utf-8")
    words = ["rebalance", "replicas", "--drain", "2", "--dump", str(dump)]
    assert run(words) == 2
    assert "--ignore-capacity" in capsys.readouterr().err
    assert run([*words, "--ignore-capacity", "-o", "csv"]) in (0, 1)


def test_the_time_is_that_of_the_slowest_broker(capsys: pytest.CaptureFixture[str]) -> None:
    _, document = ask(capsys, *DRAINED, "--throttle", "1kB")
    effects = document["summary"]["effects"]
    copied = document["summary"]["bytes"]
    busiest = max(max(broker["bytes_in"], broker["bytes_out"]) for broker in effects["brokers"])
    assert effects["seconds"] == pytest.approx(busiest / 1000)
    assert sum(broker["bytes_in"] for broker in effects["brokers"]) == copied
    assert {broker["broker"] for broker in effects["brokers"] if broker["bytes_out"]} <= {1, 2, 3}


def test_a_broker_is_relieved_as_far_as_it_can_be(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = ask(capsys, "--relieve", "3", "--to-used", "1", *HEALTHY, "--max-disk-used", "100")
    (bound,) = document["summary"]["bounds"]
    assert (code, bound["goal"], bound["short"]) == (1, "relieve 3", "not all of it can leave")


def two_directories(tmp_path: Path) -> str:
    """The healthy sample with a second, empty directory on broker 3, whose first is full of what it holds."""
    sample = read_sample("sample-healthy")
    held = sum(int(str(row["size"])) for row in sample.replicas.rows() if row["broker"] == 3)
    rows = [
        {**row, "path": "/full", "total_bytes": held, "usable_bytes": 0} if row["broker"] == 3 else row
        for row in sample.log_dirs.rows()
    ]
    empty = {"broker": 3, "path": "/empty", "error": None, "total_bytes": 10 * held, "usable_bytes": 10 * held}
    replicas = [{**row, "log_dir": "/full"} if row["broker"] == 3 else row for row in sample.replicas.rows()]
    found = replace(
        sample, log_dirs=Table.from_rows(LOG_DIRS, [*rows, empty]), replicas=Table.from_rows(REPLICAS, replicas)
    )
    write_snapshot(found, tmp_path / "dump")
    return str(tmp_path / "dump")


def test_a_log_directory_is_relieved_to_another_of_its_broker(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    dump, file = two_directories(tmp_path), tmp_path / "moves.json"
    words = ["--relieve", "3:/full", "--to-used", "70%", "--dump", dump]
    code, document = ask(capsys, *words, "--reassignment-json", str(file))
    assert code == 0
    rows = document["moves"]
    held = sum(one["size"] for one in read_dump(dump).replicas.rows() if one["broker"] == 3)
    largest = max(one["size"] for one in read_dump(dump).replicas.rows() if one["broker"] == 3)
    assert {tuple(row["directories"]) for row in rows} == {("3:/empty",)}
    assert all(row["from_replicas"] == row["to_replicas"] and not row["adding"] for row in rows)
    copied = sum(row["bytes"] for row in rows)
    assert held - int(held * 0.7) <= copied < held - int(held * 0.7) + largest
    assert (document["summary"]["moves"], document["summary"]["bytes"]) == (0, 0)
    (bound,) = document["summary"]["bounds"]
    assert (bound["goal"], bound["value"], bound["short"]) == ("relieve 3:/full", copied, "")
    assert len(document["summary"]["changed_directories"]) == len(rows)
    written = json.loads(file.read_text(encoding="utf-8"))["partitions"]
    for one in written:
        chosen = dict(zip(one["replicas"], one["log_dirs"], strict=True))
        assert chosen.pop(3) == "/empty"
        assert set(chosen.values()) <= {"any"}
    code, again = ask(capsys, "--from-reassignment-json", str(file), "--dump", dump)
    named = tmp_path / "named.json"
    assert (
        run(["rebalance", "replicas", "--from-reassignment-json", str(file), "--dump", dump, "--out", str(named)]) == 0
    )
    assert run(["rebalance", "verify", str(named), "--dump", dump]) == 0
    assert capsys.readouterr().out.count("HOLDS") == 1
    changed = [sorted(one["summary"]["changed_directories"], key=str) for one in (again, document)]
    assert (code, changed[0]) == (0, changed[1])
    assert run(["rebalance", "replicas", *words]) == 0
    assert f"{len(rows)} replicas would change their log directory" in capsys.readouterr().out


def test_a_plan_for_kreplica_has_what_only_changes_its_directory(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    dump, file = two_directories(tmp_path), tmp_path / "plan.json"
    words = ["--relieve", "3:/full", "--dump", dump, "--out", str(file)]
    limits = ["--moves-per-directory", "3", "--bytes-per-directory", "5KB"]
    code, document = ask(capsys, *words, *limits)
    assert (code, document["summary"]["left_out"]) == (0, 0)
    plan = json.loads(file.read_text(encoding="utf-8"))
    assert plan["changed_directories"] == document["summary"]["changed_directories"] != []
    assert (plan["changes"], plan["limits"]["moves_per_directory"]) == ([], 3)
    assert run(["rebalance", "rehearse", str(file), "--dump", dump]) == 2
    assert "it only changes log directories" in capsys.readouterr().err
    assert plan["limits"]["bytes_per_directory"] == 5000
    assert run(["rebalance", "apply", str(file), "--dump", dump]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[0].startswith("DRY RUN not begun:")
    assert "3:/empty" in shown
    assert run(["rebalance", "replicas", *words, "--force"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[-1] == f"next     kreplica rebalance apply {file} --bootstrap-server HOST:PORT"
    _, capped = ask(capsys, "--relieve", "3:/full", "--dump", dump, "--max-bytes", "1")
    assert capped["summary"]["changed_directories"] == []
    assert {row["reason"] for row in capped["moves"]} == {"above --max-bytes 1"}


def test_a_relief_of_a_directory_is_verified(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    dump, file = two_directories(tmp_path), tmp_path / "plan.json"
    sizes = [int(str(one["size"])) for one in read_dump(dump).replicas.rows() if one["broker"] == 3]
    need = sum(sizes) - int(sum(sizes) * 0.7)
    sums = {0}
    for size in sizes:
        sums |= {one + size for one in sums}
    least = min(one for one in sums if one >= need)
    assert ask(capsys, "--relieve", "3:/full", "--dump", dump, "--out", str(file))[0] == 0
    assert run(["rebalance", "verify", str(file), "--dump", dump, "-o", "json"]) == 0
    (relief,) = json.loads(capsys.readouterr().out)["summary"]["reliefs"]
    assert (relief["value"], relief["lower_bound"], relief["short"]) == (least, least, 0)
    assert run(["rebalance", "verify", str(file), "--dump", dump]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("HOLDS the plan is legal; no plan takes less")
    assert "bytes that leave /full of broker 3: " in shown
    plan = json.loads(file.read_text(encoding="utf-8"))
    assert plan["certificate"]["reliefs"][0]["gap"] == 0
    del plan["digest"], plan["changed_directories"][0]
    plan["made_from"] = plan["made_from"][1:]
    write_document(plan, file, replace=True)
    assert run(["rebalance", "verify", str(file), "--dump", dump]) == 1
    assert "bytes leave it and" in capsys.readouterr().out


def test_a_proof_says_that_nothing_less_does(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["--drain", "3", "--topic", "two-copies", *HEALTHY, "--prove"]
    code, document = ask(capsys, *words, "--out", str(tmp_path / "plan.json"))
    assert code == 0
    certificate = document["summary"]["certificate"]
    drained = sum(3 in row["from_replicas"] for row in document["moves"])
    bounds = [(one["quantity"], one["value"], one["lower_bound"], one["gap"]) for one in certificate["bounds"]]
    size = document["summary"]["bytes"]
    assert drained > 0
    assert bounds == [("moves", drained, drained, 0), ("bytes", size, size, 0)]
    assert certificate["optimal"] is True
    assert f'"lower_bound":{drained}' in (tmp_path / "plan.json").read_text(encoding="utf-8").replace(" ", "")
    assert run(["rebalance", "replicas", *words]) == 0
    assert "optimal, no plan takes fewer" in capsys.readouterr().out


def test_more_brokers_may_fail_than_a_change_bears(capsys: pytest.CaptureFixture[str]) -> None:
    """From three replicas to two under min.insync.replicas 2: enough for writes as long as no broker fails."""
    words = ["--replication-factor", "2", "--topic", "payments-enriched", *HEALTHY]
    rows = {margin: ask(capsys, *words, "--margin", margin)[1]["moves"] for margin in ("0", "1")}
    number = sum(row["topic"] == "payments-enriched" for row in read_sample("sample-healthy").partitions.rows())
    assert [row["planned"] for row in rows["0"]] == [True] * number
    assert [row["planned"] for row in rows["1"]] == [False] * number
    assert all("only 1 in sync where min.insync.replicas is 2" in row["reason"] for row in rows["1"])


def test_a_single_replica_under_min_isr_is_left_out_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    """One replica counts as enough for min.insync.replicas 2; on the way there are two, of which one is in sync."""
    words = ["--drain", "1", "--topic", "single-copy", *HEALTHY]
    code, document = ask(capsys, *words)
    (row,) = document["moves"]
    assert (code, row["planned"]) == (1, False)
    assert row["reason"].endswith("which is not so now: set min.insync.replicas of the topic to 1 until it has moved")


def test_the_table_of_brokers_says_what_it_counts(capsys: pytest.CaptureFixture[str]) -> None:
    total = len(read_sample("sample-healthy").partitions)
    run(["rebalance", "replicas", *DRAINED])
    assert f"brokers  2 of {total} partitions are counted: those that may be planned" in capsys.readouterr().out
    _, document = ask(capsys, *DRAINED)
    effects = document["summary"]["effects"]
    assert (effects["partitions"], effects["all_partitions"]) == (2, total)
    run(["rebalance", "replicas", "--balance", "leaders", *HEALTHY])
    assert "are counted" not in capsys.readouterr().out


def test_a_plan_is_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The words beside the bars are the figures of the answer, rack by rack and broker by broker."""
    picture = tmp_path / "plan.svg"
    _, document = ask(capsys, *DRAINED, "--svg", str(picture))
    assert document["summary"]["written"] == {"svg": str(picture)}
    texts = [one.text for one in ET.parse(picture).getroot().iter("{http://www.w3.org/2000/svg}text")]
    effects = document["summary"]["effects"]
    for one in effects["brokers"]:
        at = texts.index(f"broker {one['broker']}")
        figures = [one[f"{load}_{when}"] for load in ("replicas", "leaders") for when in ("before", "after")]
        assert texts[at + 1 : at + 5] == list(map(str, figures))
    assert [one for one in texts if one and one.startswith("rack ")] == ["rack r1", "rack r2", "rack r3"]
    assert run(["rebalance", "replicas", *DRAINED, "--svg", str(picture)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert ask(capsys, *DRAINED, "--svg", str(picture), "--force")[0] == 0
    assert [one.name for one in tmp_path.iterdir()] == ["plan.svg"], "nothing half is left"
    file = tmp_path / "moves.json"
    ask(capsys, *DRAINED, "--reassignment-json", str(file))
    words = ["--from-reassignment-json", str(file), *HEALTHY, "--svg", str(tmp_path / "other.svg")]
    assert run(["rebalance", "replicas", *words]) == 2
    assert "--svg draws plans for a reason" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "bar"), [(0, ""), (80, "██████████"), (40, "█████"), (1, "▏"), (44, "█████▌"), (79, "█████████▉")]
)
def test_bars_are_drawn_in_eighths_of_a_letter(value: int, bar: str) -> None:
    assert bar_of(value, 80, 10) == bar


def test_a_load_that_is_not_zero_is_seen() -> None:
    assert bar_of(1, 10**12, 10) == "▏"
    pairs = [BrokerEffect(one, None, 5, 5, 3 - one, one, 7, 7, 0, 0, 0, None) for one in (1, 2)]
    assert broker_bars(pairs, 4) == ("leaders", ["1  ████  ->  ██", "2  ██    ->  ████"])
    assert broker_bars([replace_of(one) for one in pairs], 4) == ("", []), "nothing changes"


def replace_of(one: BrokerEffect) -> BrokerEffect:
    return structs.replace(one, leaders_after=one.leaders_before)


def test_a_replication_factor_that_cannot_be_had_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rebalance", "replicas", "--replication-factor", "4", *HEALTHY]) == 2
    assert "replication factor 4 is more than the 3 brokers" in capsys.readouterr().err
    assert run(["rebalance", "replicas", "--replication-factor", "1", "--topic", "two-copies", *HEALTHY]) == 2
    assert "below min.insync.replicas" in capsys.readouterr().err


def test_brokers_that_have_been_down_so_long_are_repaired(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """In the sample broker 3 is down; its quorum heard of it last some seconds before."""
    sample = read_sample("sample")
    (heard,) = [row["last_fetch_ms"] for row in sample.quorum.rows() if row["node"] == 3]
    down = sample.taken_at.timestamp() - int(str(heard)) / 1000
    code, document = ask(capsys, "--dead-for", f"{down - 1:.0f}s", "--dump", "sample")
    assert (code, [row["removing"] for row in document["moves"] if row["planned"]]) == (1, [[3]])
    code, document = ask(capsys, "--dead-for", "1h", "--dump", "sample")
    assert [row["planned"] for row in document["moves"]] == []
    assert "no broker has been down for 1 h" in document["warnings"]
    assert "broker 3 is down for less than 1 h, expected back and not repaired" in document["warnings"]
    for words, said in (
        (["--dead-for", "1h", "--repair", "3"], "--repair and --dead-for exclude each other"),
        (["--repair", "3", "--since", "x"], "--since needs --dead-for"),
        (["--dead-for", "soon"], "--dead-for soon is no length of time"),
        (["--dead-for", "1h", "--since", str(tmp_path / "none")], "none"),
        (["--dead-for", "1h", "--since", "fleet"], "fleet"),
    ):
        assert run(["rebalance", "replicas", *words, "--dump", "sample"]) == 2
        assert said in capsys.readouterr().err


def test_earlier_snapshots_tell_since_when_a_broker_is_down(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Without a quorum: what snapshots of an hour ago, and of the time between, show."""
    sample = read_sample("sample")
    now = replace(sample, quorum=Table.empty(QUORUM))
    healthy = replace(read_sample("sample-healthy"), quorum=Table.empty(QUORUM))

    def stored(name: str, *snapshots: tuple[ClusterSnapshot, int]) -> str:
        for snapshot, minutes in snapshots:
            write_snapshot(replace(snapshot, taken_at=now.taken_at - timedelta(minutes=minutes)), tmp_path / name)
        return str(tmp_path / name)

    dump = ["--dump", stored("now", (now, 0)), "--dead-for", "1h"]
    assert run(["rebalance", "replicas", *dump]) == 2
    assert "nothing tells whether broker 3 has been down for 1 h" in capsys.readouterr().err
    code, document = ask(capsys, *dump, "--since", stored("down", (now, 300), (healthy, 200), (now, 90), (now, 20)))
    assert (code, [row["removing"] for row in document["moves"] if row["planned"]]) == (1, [[3]])
    said = "broker 3 is down now and in earlier snapshots; nothing tells of the time between"
    assert said in document["warnings"]
    code, document = ask(capsys, *dump, "--since", stored("up", (now, 90), (healthy, 20)))
    assert [row for row in document["moves"] if row["planned"]] == []
    assert run(["rebalance", "replicas", *dump, "--since", stored("lately", (now, 20))]) == 2
    assert "broker 3 was down already at" in capsys.readouterr().err
    assert run(["rebalance", "replicas", *dump, "--since", stored("later", (now, -20))]) == 2
    assert "has no earlier snapshot of cluster" in capsys.readouterr().err
