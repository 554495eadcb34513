"""kreplica whatif list, show, run and compare as a user runs them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Kreplica = Callable[..., Any]
LOSS = "hw-truncation-loss"


def answer(done: Any) -> dict[str, object]:
    return dict(json.loads(done.out))


def test_the_list_names_every_scenario(kreplica: Kreplica) -> None:
    from kreplica.scenarios import names

    document = answer(kreplica("whatif", "list", "-o", "json"))
    assert document["schema"] == "kreplica/whatif-list/v1"
    assert [row["scenario"] for row in document["scenarios"]] == list(names())  # type: ignore[index, attr-defined]


def test_show_tells_cluster_faults_and_expectations(kreplica: Kreplica) -> None:
    done = kreplica("whatif", "show", LOSS)
    assert done.code == 0
    for part in ("KIP-101", "orders-0 on 3,2", "writer sends 2 records", "crash broker-2", "lost=m2"):
        assert part in done.out
    scenario = answer(kreplica("whatif", "show", LOSS, "-o", "json"))["scenario"]
    (writer,) = scenario["clients"]  # type: ignore[index]
    assert (writer["name"], writer["does"]) == ("writer", "sends 2 records to orders-0 from 2000 ms to 8000 ms")
    assert f"{writer['name']} {writer['does']}" in done.out
    assert scenario["plan"][1] == {"when": {"on": "time", "time": 9_000_000}, "do": {"do": "crash", "node": "broker-1"}}  # type: ignore[index]


def test_show_tells_for_which_mode_a_case_holds(kreplica: Kreplica) -> None:
    done = kreplica("whatif", "show", "ten-percent", "-o", "json")
    told = [(row["version"], row["controllers"]) for row in answer(done)["cases"]]  # type: ignore[attr-defined]
    assert told == [("0.8.1", ["zookeeper"]), ("3.3-kraft", ["kraft"]), ("0.8.1", ["zookeeper", "kraft"])]
    assert "0.8.1 in ZooKeeper mode" in kreplica("whatif", "show", "ten-percent").out


def test_0_10_loses_what_0_11_keeps(kreplica: Kreplica) -> None:
    old = kreplica("whatif", "run", LOSS, "--kafka-version", "0.10")
    assert (old.code, old.out.split()[:2]) == (0, ["LOST", "m2"])
    assert "truncated 2 to 1" in old.out
    assert "LEADER LEO" in old.out
    new = kreplica("whatif", "run", LOSS, "--kafka-version", "0.11", "-o", "json")
    outcome = answer(new)["outcome"]
    assert {name: outcome[name] for name in ("scenario", "version", "seed", "lost", "as_expected")} == {  # type: ignore[index]
        "scenario": LOSS,
        "version": "0.11",
        "seed": 0,
        "lost": [],
        "as_expected": True,
    }


def test_every_step_is_a_row(kreplica: Kreplica) -> None:
    document = answer(kreplica("whatif", "run", LOSS, "--kafka-version", "0.10", "-o", "json"))
    cut = next(row for row in document["timeline"] if row["kind"] == "truncated")  # type: ignore[attr-defined]
    assert cut["rule"] == "log_truncation.truncate_to_high_watermark"
    assert (cut["node"], cut["leader"], cut["leader_leo"], cut["leader_hw"]) == ("broker-2", "broker-3", 2, 2)
    assert (cut["follower_leo"], cut["follower_hw"]) == ({"broker-2": 1}, {"broker-2": 1})


def test_each_step_is_explained_by_its_rule(kreplica: Kreplica) -> None:
    done = kreplica("whatif", "run", LOSS, "--kafka-version", "0.10", "--explain")
    assert "broker-2 cuts orders-0 from 2 to 1  [log_truncation.truncate_to_high_watermark]" in done.out
    assert "docs/reference/protocol-rules.md#log_truncationtruncate_to_high_watermark" in done.out


def test_it_tells_why_a_record_is_lost(kreplica: Kreplica) -> None:
    """The story of KIP-101's first scenario, event by event."""
    arguments = ("whatif", "run", LOSS, "--kafka-version", "0.10", "--why", "m2")
    done = kreplica(*arguments)
    story = [
        "writer sends m2",
        "m2 at offset 1 of broker-3",
        "m2 at offset 1 of broker-2",
        "the leader knows that broker-2 has m2",
        "m2 is committed",
        "writer is told that m2 stands",
        "broker-2 crashes",
        "high watermark 1 from its checkpoint",
        "broker-2 loses m2; left: broker-3)  [log_truncation.truncate_to_high_watermark]",
        "broker-3 crashes",
        "leader 2, epoch 1, ISR 2: its leader is gone",
        "broker-2 leads without m2",
        "broker-3 loses m2; no copy is left",
    ]
    places = [done.out.find(part) for part in story]
    assert -1 not in places
    assert places == sorted(places)
    assert "m2 is lost, although it was acknowledged: from 20510.000 ms on no leader's log has it" in done.out
    why = answer(kreplica(*arguments, "-o", "json"))["why"]
    assert (why["fate"], why["partition"]) == ("lost", "orders-0")  # type: ignore[index]
    cut = next(cause for cause in why["causes"] if "broker-2 loses m2" in (cause["note"] or ""))  # type: ignore[index]
    assert cut["rule_source"] == "AbstractFetcherThread.truncateToHighWatermark, KIP-101"


def test_a_part_of_the_time_is_told(kreplica: Kreplica) -> None:
    part = ("whatif", "run", LOSS, "--kafka-version", "0.10", "--after", "14.5s", "--before", "14504.5ms")
    rows = answer(kreplica(*part, "-o", "json"))["timeline"]
    assert {row["time_ms"] for row in rows} >= {14500, 14504.5}  # type: ignore[attr-defined]
    assert all(14500 <= row["time_ms"] <= 14504.5 for row in rows)  # type: ignore[attr-defined]
    done = kreplica(*part, "--explain")
    assert "broker-2 cuts orders-0 from 2 to 1" in done.out
    assert "crashes" not in done.out
    assert "writer sends" not in done.out


def test_what_teaches_is_told(kreplica: Kreplica) -> None:
    done = kreplica("whatif", "run", "one-round-of-fetch", "--explain").out
    for part in (
        "broker-1 learns that broker-2 has t-0 up to 3  [follower_lag.last_caught_up_after_fetch]",
        "parks the fetch of t-0 by broker-2: nothing to read  [fetching.follower_fetch_waits]",
        "that was parked at 540.000 ms: records were appended  [fetching.follower_fetch_waits]",
    ):
        assert part in done
    drawn = kreplica("whatif", "run", "isr-propagation", "--kafka-version", "0.9").out
    assert "zookeeper: isr_change_notification: orders-0" in drawn
    assert "zookeeper: isr_change_notification: read and deleted" in drawn
    told = kreplica("whatif", "run", "isr-propagation", "--kafka-version", "0.9", "--explain").out
    assert "/isr_change_notification/isr_change_2_1_1 is created with orders-0  [zookeeper_isr.propagates]" in told


def test_the_svg_is_a_picture_of_the_run(kreplica: Kreplica, tmp_path: Path) -> None:
    file = tmp_path / "run.svg"
    assert kreplica("whatif", "run", LOSS, "--svg", str(file)).code == 0
    texts = [element.text for element in ET.parse(file).iter("{http://www.w3.org/2000/svg}text")]
    assert {"broker-2", "broker-3", "writer", "LeaderAndIsr", "m1", "LEO 1  HW 1"} <= set(texts)


def test_the_picture_is_drawn_from_the_json_alone(kreplica: Kreplica, tmp_path: Path) -> None:
    from engine.parsed_events import event_of

    from kreplica.report.heading import Heading
    from kreplica.report.svg.run import run_picture

    file = tmp_path / "run.svg"
    document = answer(kreplica("whatif", "run", LOSS, "--kafka-version", "0.10", "--svg", str(file), "-o", "json"))
    summary, outcome = document["summary"], document["outcome"]
    heading = Heading(*(summary[name] for name in ("title", "verdict", "look", "story")))  # type: ignore[index]
    events = [event_of(row) for row in document["timeline"]]  # type: ignore[attr-defined]
    drawn = run_picture(heading, events, None, outcome["lost"], outcome["duplicated"])  # type: ignore[index]
    assert drawn == file.read_text(encoding="utf-8")
    assert "LOST: m2 although acknowledged" in drawn


def test_a_plan_is_kept_and_played_again(kreplica: Kreplica, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    first = answer(kreplica("whatif", "run", LOSS, "--save-plan", str(file), "-o", "json"))
    again = answer(kreplica("whatif", "run", LOSS, "--plan", str(file), "-o", "json"))
    assert first["summary"]["trace_hash"] == again["summary"]["trace_hash"]  # type: ignore[index]
    assert again["outcome"]["as_expected"] is None  # type: ignore[index]


def test_while_nobody_leads_the_step_table_says_whose_offsets_are_whose(kreplica: Kreplica) -> None:
    """Both replicas are followers then."""
    table = kreplica("whatif", "run", LOSS, "--kafka-version", "0.10").out
    (row,) = [line.split() for line in table.splitlines() if line.startswith("14504.600")]
    assert row[-4:] == ["2:1", "3:2", "2:1", "3:-"]


def test_compare_sweeps_versions_and_settings(kreplica: Kreplica) -> None:
    done = kreplica(
        "whatif", "compare", LOSS, "--kafka-version", "0.10,0.11,4.1", "--set", "acks=0,1,all", "-o", "json"
    )
    rows = answer(done)["runs"]
    assert [(row["version"], row["settings"]) for row in rows][:4] == [  # type: ignore[attr-defined, index]
        ("0.10", {"acks": 0}),
        ("0.10", {"acks": 1}),
        ("0.10", {"acks": "all"}),
        ("0.11", {"acks": 0}),
    ]
    assert [row["lost"] for row in rows if row["settings"] == {"acks": "all"}] == [["m2"], [], []]  # type: ignore[attr-defined]
    table = kreplica("whatif", "compare", LOSS, "--kafka-version", "0.10,0.11").out
    assert table.startswith("DIFFERS")


def test_many_records_of_a_column_are_counted_and_a_setting_of_the_scenario_is_expected(kreplica: Kreplica) -> None:
    """Fifty names a cell would push the second column off the screen; -o json has them all."""
    table = kreplica("whatif", "compare", "zombie-leader", "--set", "acks=1,all").out
    assert "m8…m59 (52 records)" in table
    (expected,) = (line.split() for line in table.splitlines() if line.startswith("as_expected"))
    assert expected == ["as_expected", "yes", "yes"]


def test_compare_leaves_out_what_a_version_cannot_play(kreplica: Kreplica) -> None:
    words = ("whatif", "compare", "unfenced-fetch", "--kafka-version", "2.0,4.1")
    done = kreplica(*words)
    assert done.code == 0
    assert "4.1: ZooKeeper mode only" in done.out
    played, left_out = answer(kreplica(*words, "-o", "json"))["runs"]  # type: ignore[misc]
    assert (played["lost"], played["not_played"]) == (["y"], None)
    assert (left_out["version"], left_out["lost"], left_out["not_played"]) == ("4.1", None, "ZooKeeper mode only")


def test_compare_shows_torn_transactions(kreplica: Kreplica) -> None:
    """KIP-890: with transaction version 1 a delayed EndTxn ends the next transaction."""
    done = kreplica("whatif", "compare", "delayed-end-transaction", "--kafka-version", "3.9,4.0", "-o", "json")
    told = [(row["version"], row["torn"], row["broken"]) for row in answer(done)["runs"]]  # type: ignore[attr-defined]
    assert told == [("3.9", ["transfer 2"], ["transfer 2"]), ("4.0", [], [])]


@pytest.mark.slow
def test_many_runs_find_keep_and_replay_a_failing_plan(kreplica: Kreplica, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    words = ("whatif", "run", "acks1-leader-crash", "--seed", "100", "--runs", "40", "-o", "json")
    done = kreplica(*words, "--set", "acks=0", "--save-plan", str(file))
    outcome = answer(done)["outcome"]
    assert (done.code, outcome["runs"]) == (1, 40)  # type: ignore[index]
    smallest = outcome["smallest"]  # type: ignore[index]
    assert "lost" in smallest["wrong"]
    kept = json.loads(file.read_text())
    assert (kept["steps"], kept["leave_out"]) == (smallest["plan"], smallest["leave_out"])
    again = answer(kreplica("whatif", "run", "acks1-leader-crash", "--plan", str(file), "-o", "json"))["outcome"]
    assert again["lost"]  # type: ignore[index]
    assert (again["seed"], again["settings"], again["version"]) == (smallest["seed"], {"acks": 0}, outcome["version"])  # type: ignore[index]


@pytest.mark.slow
def test_the_smallest_plan_keeps_what_was_promised(kreplica: Kreplica) -> None:
    """Without acks=all a record would be lost that was never committed: another failure than that of the version."""
    words = ("whatif", "run", LOSS, "--kafka-version", "0.10", "--seed", "190", "--runs", "20", "-o", "json")
    smallest = answer(kreplica(*words))["outcome"]["smallest"]  # type: ignore[index]
    assert smallest["wrong"] == ["lost", "committed-record-lost"]
    assert not {"acks", "min.insync.replicas"} & set(smallest["leave_out"]["settings"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "hw-loss"), "there is no scenario 'hw-loss'; did you mean hw-truncation-loss"),
        (("run", LOSS, "--kafka-version", "0.7"), "'0.7' is no version of Kafka"),
        (("run", LOSS, "--set", "ack=1"), "the engine knows no setting 'ack'; did you mean acks"),
        (("run", LOSS, "--set", "acks"), "--set acks is no setting; write it as NAME=VALUE"),
        (("run", LOSS, "--set", "acks=1", "--set", "acks=0"), "--set acks is given twice"),
        (("run", LOSS, "--plan", "no-such-file"), "cannot read no-such-file"),
        (("run", LOSS, "--svg", "/no/such/folder/x.svg"), "cannot write /no/such/folder/x.svg"),
        (("run", LOSS, "--partition", "orders-7"), "the scenario has no partition 'orders-7'; did you mean orders-0?"),
        (("run", LOSS, "--runs", "2", "--explain"), "--explain does not go with --runs"),
        (("run", LOSS, "--runs", "2", "--why", "m2"), "--why does not go with --runs"),
        (("run", LOSS, "--why", "m9"), "no client sends a record 'm9'; one of m1, m2"),
        (("run", LOSS, "--after", "4s", "--before", "3s"), "--before 3s is earlier than --after 4s"),
        (("run", LOSS, "--after", "soon"), "--after soon is no length of time"),
        (("compare", LOSS, "--kafka-version", "0.10,x"), "'x' is no version of Kafka"),
        (("compare", LOSS, "--set", "acks=0,2"), "acks=2 cannot be set; give 0 or 1 or all"),
        (("show", "hw"), "there is no scenario 'hw'"),
        (("show", "nope"), "there is no scenario 'nope'; see kreplica whatif list"),
        (("run", LOSS, "--kafka-version", ""), "'' is no version of Kafka"),
    ],
)
def test_bad_input_is_named(words: tuple[str, ...], message: str, kreplica: Kreplica) -> None:
    done = kreplica("whatif", *words)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""


def test_the_reason_of_a_scenario_is_given_with_its_own_faults_alone(kreplica: Kreplica, tmp_path: Path) -> None:
    own, other = tmp_path / "own.json", tmp_path / "other.json"
    told = kreplica("whatif", "run", LOSS, "--save-plan", str(own)).out
    assert "\nwhy " in told
    assert "\nwhy " in kreplica("whatif", "run", LOSS, "--plan", str(own)).out
    other.write_text('[{"when": {"on": "time", "time": 1}, "do": {"do": "crash", "node": "broker-1"}}]')
    done = kreplica("whatif", "run", LOSS, "--plan", str(other))
    assert done.code == 0
    assert "\nwhy " not in done.out


def test_a_plan_for_other_nodes_is_refused(kreplica: Kreplica, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text('[{"when": {"on": "time", "time": 1}, "do": {"do": "crash", "node": "broker-9"}}]')
    done = kreplica("whatif", "run", LOSS, "--plan", str(file))
    assert done.code == 2
    assert "there is no node 'broker-9'" in done.err
    file.write_text('[{"when": {"on": "time", "time": 1}, "do": {"do": "explode"}}]')
    done = kreplica("whatif", "run", LOSS, "--plan", str(file))
    assert done.code == 2
    assert "is no plan of faults" in done.err


def warnings_of(done: Any) -> list[str]:
    document = answer(done)
    found = [str(one) for one in document["warnings"]]  # type: ignore[attr-defined]
    assert all(f"warning: {one}" in done.err for one in found)
    return found


def test_what_makes_no_difference_is_said(kreplica: Kreplica, tmp_path: Path) -> None:
    """A version with another's rules, settings of nobody, steps that wait in vain: none of it is passed over."""
    assert warnings_of(kreplica("whatif", "run", LOSS, "-o", "json")) == []
    plan = tmp_path / "plan.json"
    plan.write_text('[{"when": {"on": "event", "kind": "paused"}, "do": {"do": "crash", "node": "broker-1"}}]')
    words = (
        "--kafka-version",
        "4.3.1",
        "--plan",
        str(plan),
        "--set",
        "group.id=g",
        "--set",
        "replica.lag.max.messages=9",
    )
    version, group, lag, step = warnings_of(kreplica("whatif", "run", LOSS, *words, "-o", "json"))
    assert version.startswith("Kafka 4.3.1 is played by the rules and defaults of 4.3")
    assert group == "group.id does nothing here: the scenario has no consumer"
    assert lag.startswith("replica.lag.max.messages does nothing here")
    assert step == "never came about: on paused: crash broker-1"
    (mode,) = warnings_of(
        kreplica(
            "whatif",
            "compare",
            LOSS,
            "--kafka-version",
            "4.1,0.10",
            "--set",
            "zookeeper.session.timeout.ms=9000",
            "-o",
            "json",
        )
    )
    told = "zookeeper.session.timeout.ms does nothing here: Kafka 4.1 has no ZooKeeper here"
    assert mode == f"4.1 zookeeper.session.timeout.ms=9000: {told}"


def test_compare_alone_takes_the_versions_of_the_scenario_in_order(kreplica: Kreplica) -> None:
    done = kreplica("whatif", "compare", LOSS)
    assert done.out.startswith("DIFFERS hw-truncation-loss: 2 of 5 lose acknowledged records\n\n")
    assert done.out.splitlines()[2].split() == ["0.8.1", "0.10", "0.11", "2.1", "4.1"]


def test_compare_gives_each_value_one_column(kreplica: Kreplica) -> None:
    done = kreplica("whatif", "compare", LOSS, "--kafka-version", "0.10,0.10", "--set", "acks=all,all")
    assert done.out.startswith("ALONE")
    assert done.out.splitlines()[2].split() == ["0.10", "acks=all"]


def test_no_failing_run_no_plan(kreplica: Kreplica, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    done = kreplica(
        "whatif", "run", LOSS, "--kafka-version", "4.1", "--runs", "2", "--save-plan", str(file), "-o", "json"
    )
    assert (done.code, file.exists()) == (0, False)
    assert warnings_of(done) == [f"no run failed, so {file} is not written"]


def test_what_is_odd_is_not_called_safe_and_what_must_come_out_is_shown(kreplica: Kreplica) -> None:
    half = kreplica("whatif", "run", "delayed-end-transaction").out
    assert half.startswith("ODD readable in part: transfer 2; not as its producer was told: transfer 2;")
    assert "expected as the scenario says for 0.11: torn=transfer 2, broken=transfer 2" in half
    again = kreplica("whatif", "run", "offset-as-lock").out
    assert again.startswith("SAFE nothing lost, doubled or out of order; read twice m3, m4, m5;")


ELR = "eligible.leader.replicas.version"


def test_features_are_set_compared_kept_and_played_again(kreplica: Kreplica, tmp_path: Path) -> None:
    """An upgraded 4.3 without eligible leader replicas loses what a new one keeps (KIP-966)."""
    words = ("whatif", "compare", "last-replica-standing", "--kafka-version", "4.3", "--feature", f"{ELR}=0,1")
    rows = answer(kreplica(*words, "-o", "json"))["runs"]
    told = [(row["settings"], len(row["lost"]), row["as_expected"]) for row in rows]  # type: ignore[attr-defined]
    assert told == [({ELR: 0}, 3, True), ({ELR: 1}, 0, True)]
    file = tmp_path / "plan.json"
    run = ("whatif", "run", "last-replica-standing")
    first = kreplica(*run, "--kafka-version", "4.3", "--feature", f"{ELR}=0", "--save-plan", str(file))
    assert f"--feature {ELR}=0 --explain" in first.out
    again = answer(kreplica(*run, "--plan", str(file), "-o", "json"))["outcome"]
    assert (again["version"], again["settings"], len(again["lost"])) == ("4.3", {ELR: 0}, 3)  # type: ignore[index]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--feature", "elr=1"), "the engine knows no feature 'elr'; one of metadata.version, "),
        (("--feature", "eligible.replicas=1"), f"did you mean {ELR}?"),
        (("--feature", ELR), f"--feature {ELR} is no feature; write it as NAME=LEVEL"),
        (("--feature", f"{ELR}=on"), f"{ELR}=on cannot be set; give a whole number"),
        (("--feature", f"{ELR}=7", "--kafka-version", "4.1"), "there is no such level; give 0 or 1"),
        (("--feature", f"{ELR}=1", "--kafka-version", "3.9-kraft"), "does not know it; it is there from 4.0 on"),
        (("--feature", f"{ELR}=1", "--kafka-version", "0.10"), "ZooKeeper mode here, which has no features"),
        (("--feature", f"{ELR}=1", "--feature", f"{ELR}=0"), f"--feature {ELR} is given twice"),
        (("--set", f"{ELR}=1"), f"it is a feature; give it as --feature {ELR}=1"),
        (("--feature", "acks=1"), "the engine knows no feature 'acks'"),
    ],
)
def test_features_that_cannot_be_set(words: tuple[str, ...], message: str, kreplica: Kreplica) -> None:
    done = kreplica("whatif", "run", LOSS, *words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


OWN = ("whatif", "run", "--from")


def test_a_dumps_cluster_is_played_by_partition(kreplica: Kreplica) -> None:
    """single-copy-0 and -2 have their only replica on broker 3, which is down in the sample."""
    done = kreplica(*OWN, "sample", "--topic", "single-copy", "-o", "json")
    document = answer(done)
    assert done.code == 0
    outcome = document["outcome"]
    rows = {row["partition"]: row for row in outcome["partitions"]}  # type: ignore[index]
    assert (outcome["scenario"], outcome["version"], outcome["as_expected"]) == ("own-cluster", "4.3", None)  # type: ignore[index]
    assert list(rows) == ["single-copy-0", "single-copy-1", "single-copy-2"]
    assert [row["without_leader_ms"] for row in rows.values()] == [120_000, 0, 120_000]
    assert all(row["sent"] == 27 and row["lost"] == row["unseen"] == [] for row in rows.values())
    assert any("142 partitions of other topics are left out" in one for one in warnings_of(done))
    table = kreplica(*OWN, "sample", "--topic", "single-copy").out
    assert "unharmed 1 partition always had a leader" in table
    assert "step by step" not in table
    assert "step by step" in kreplica(*OWN, "sample", "--topic", "single-copy", "--partition", "single-copy-1").out


def test_a_dumps_cluster_meets_a_plan_and_random_faults(kreplica: Kreplica, tmp_path: Path) -> None:
    """acks=1 on one's own topic: random crashes lose records, the smallest plan is kept and played again."""
    file = tmp_path / "plan.json"
    words = (*OWN, "sample-healthy", "--topic", "two-copies", "--set", "acks=1")
    many = kreplica(*words, "--runs", "17", "--seed", "3", "--save-plan", str(file), "-o", "json")
    outcome = answer(many)["outcome"]
    assert many.code == 1
    assert {row["partition"] for row in outcome["partitions"]} <= {"two-copies-0", "two-copies-1"}  # type: ignore[index]
    assert sum(row["runs_lost"] for row in outcome["partitions"]) >= outcome["failing"]  # type: ignore[index]
    kept = json.loads(file.read_text())
    assert (kept["scenario"], kept["kafka_version"], kept["settings"]) == ("own-cluster", "4.3", {"acks": "1"})
    again = kreplica(*OWN, "sample-healthy", "--topic", "two-copies", "--plan", str(file), "-o", "json")
    assert again.code == 1
    assert answer(again)["outcome"]["lost"]  # type: ignore[index]
    other = kreplica("whatif", "run", LOSS, "--plan", str(file))
    assert (other.code, other.out) == (2, "")
    assert f"is a plan of own-cluster, not of {LOSS}; kreplica whatif run --from DUMP --plan" in other.err


def test_what_a_dump_does_not_tell_makes_the_answer_incomplete(kreplica: Kreplica, tmp_path: Path) -> None:
    file = tmp_path / "describe.txt"
    file.write_text("Topic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n")
    done = kreplica(*OWN, str(file), "--kafka-version", "4.1", "-o", "json")
    assert done.code == 5
    told = " ".join(warnings_of(done))
    assert "features are not known: those of a new cluster of 4.1 are played" in told
    assert "min.insync.replicas is not known" in told
    unknown = kreplica(*OWN, str(file))
    assert unknown.code == 2
    assert "does not tell Kafka's version; name it: --kafka-version" in unknown.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing to play is named; name a SCENARIO (kreplica whatif list), or --from DUMP"),
        ((LOSS, "--from", "sample"), "a scenario and --from are given"),
        ((LOSS, "--topic", "orders"), "--topic goes with --from"),
        (("--from", "no-such-file"), "cannot read no-such-file"),
        (("--from", "sample", "--topic", "order"), "no topic matches 'order'"),
        (
            ("--from", "sample", "--topic", "orders", "--partition", "orders-99"),
            "no partition 'orders-99'; did you",
        ),
    ],
)
def test_a_dump_that_cannot_be_played(words: tuple[str, ...], message: str, kreplica: Kreplica) -> None:
    done = kreplica("whatif", "run", *words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
