"""kreplica whatif prove as a user runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from commands.whatif.prove.screen import progress_line
from kreplica.engine.explorer.explored import Progress

Kreplica = Callable[..., Any]
TINY = ("--replicas", "2", "--epochs", "1")


def answer(done: Any) -> dict[str, Any]:
    return dict(json.loads(done.out))


def test_a_model_that_holds_says_within_which_bounds(kreplica: Kreplica) -> None:
    """TLC counts 957 states on 15 levels with two replicas, two offsets, two records and the epochs 0 and 1."""
    done = kreplica("whatif", "prove", *TINY)
    assert done.code == 0
    assert "HOLDS strong-isr of kip-320: 957 states on 15 levels, all that there are" in done.out
    assert "2 replicas, logs of 2 records, 2 records written, leader epochs 0 to 1" in done.out
    assert "next" not in done.out


def test_the_verdict_as_json(kreplica: Kreplica) -> None:
    done = kreplica("whatif", "prove", "--model", "kip-101", *TINY, "--log", "2", "--records", "2", "-o", "json")
    document = answer(done)
    verdict = document["verdict"]
    assert done.code == 0
    assert document["schema"] == "kreplica/whatif-prove/v1"
    assert verdict.pop("seconds") >= 0
    assert verdict == {
        "model": "kip-101",
        "replicas": 2,
        "log": 2,
        "records": 2,
        "epochs": 1,
        "symmetry": False,
        "complete": True,
        "distinct": 1177,
        "depth": 15,
        "holds": True,
        "invariants": [
            {
                "name": "strong-isr",
                "promise": "records that a leader holds for committed are on the whole ISR",
                "holds": True,
                "counterexample_states": None,
            }
        ],
    }
    assert document["steps"] == []
    assert document["summary"] == {"distinct": 1177, "depth": 15}


def test_a_counterexample_has_its_steps_its_diagram_and_its_file(kreplica: Kreplica, tmp_path: Path) -> None:
    """The story of KIP-101: a follower cuts a committed record when it hears of the next epoch; 9 states by TLC."""
    file = tmp_path / "proof.json"
    done = kreplica("whatif", "prove", "--model", "truncate-to-hw", "--save", str(file))
    assert done.code == 1
    assert "BROKEN strong-isr after 8 steps, of truncate-to-hw" in done.out
    steps = [line.split(maxsplit=1)[1] for line in done.out.splitlines() if line[:1] in {*"12345678"}]
    assert len(steps) == 8
    assert steps[0].startswith("the controller elects broker 1  ")
    (last,) = (line for line in done.out.splitlines() if line.lstrip().startswith("8.000"))
    assert "LeaderAndIsr" in last
    assert last.endswith("truncated 1 to 0")
    assert str(file) in done.out
    saved = json.loads(file.read_text(encoding="utf-8"))
    assert saved["verdict"]["invariants"][0]["counterexample_states"] == 9
    rows = saved["steps"]
    assert [row["step"] for row in rows] == list(range(9))
    assert rows[0]["action"] is None
    assert rows[0]["leader_epoch"] is None
    before, after = rows[-2], rows[-1]
    assert after["action"] == "become-follower"
    (leads,) = (one for one in after["brokers"] if one["leads"])
    assert leads["high_watermark"] == 1
    lost = [(one["log"], two["log"]) for one, two in zip(before["brokers"], after["brokers"], strict=True)]
    assert ([{"record": "m1", "leader_epoch": leads["leader_epoch"]}], []) in lost


def test_a_counterexample_is_played_as_faults_and_again_from_its_plan(kreplica: Kreplica, tmp_path: Path) -> None:
    """A follower of the same leader goes on unchanged since KAFKA-1188 (0.8.2), so that it loses m1 in 0.8.1 alone."""
    file, other = tmp_path / "the plan.json", tmp_path / "none.json"
    words = ("whatif", "prove", "--model", "truncate-to-hw")
    done = kreplica(*words, "--save-plan", str(file))
    assert done.code == 1
    told = [line.strip() for line in done.out.splitlines()]
    assert "at 10500 ms: expire-session of broker-2" in told
    assert "0.8.1    LOST m1 although acknowledged; 1 record acknowledged of 1 sent" in told
    assert "0.11     SAFE nothing lost, doubled or out of order; 1 record acknowledged of 1 sent" in told
    assert f"next     kreplica whatif run --plan '{file}'" in told
    replayed = answer(kreplica("whatif", "run", "--plan", str(file), "-o", "json"))
    assert replayed["outcome"]["lost"] == ["m1"]
    again = answer(kreplica("whatif", "run", "--plan", str(file), "--kafka-version", "0.8.2", "-o", "json"))
    assert again["outcome"]["lost"] == []
    document = answer(kreplica(*words, "-o", "json"))
    assert list(document["replays"]) == ["strong-isr"]
    assert document["without_plan"] == {}
    flawed, mended = document["replays"]["strong-isr"]["runs"]
    assert (flawed["kafka_version"], flawed["lost"]) == ("0.8.1", ["m1"])
    assert flawed["broken"] == ["isr-member-lacks-committed-record", "committed-record-lost"]
    assert (mended["kafka_version"], mended["lost"], mended["broken"]) == ("0.11", [], [])
    held = kreplica("whatif", "prove", *TINY, "--save-plan", str(other), "-o", "json")
    assert answer(held)["replays"] == {}
    assert answer(held)["warnings"] == [f"there is no plan to write to {other}"]
    assert not other.exists()


def test_several_invariants_are_told_apart(kreplica: Kreplica) -> None:
    """The first try at KIP-320 lets logs differ until a fetch finds it: 8 states by TLC."""
    words = ("--invariant", "epoch-prefix", "--invariant", "strong-isr", "--memory", "4MB")
    done = kreplica("whatif", "prove", "--model", "kip-320-first-try", *words, "-o", "json")
    assert done.code == 1
    document = answer(done)
    found = {one["name"]: (one["holds"], one["counterexample_states"]) for one in document["verdict"]["invariants"]}
    assert found == {"epoch-prefix": (False, 8), "strong-isr": (None, None)}
    assert document["verdict"]["complete"] is False
    assert {row["invariant"] for row in document["steps"]} == {"epoch-prefix"}


def test_too_little_memory_leaves_it_open(kreplica: Kreplica) -> None:
    done = kreplica("whatif", "prove", *TINY, "--memory", "100kB")
    assert done.code == 5
    assert "INCOMPLETE strong-isr of kip-320: unbroken in " in done.out
    assert "did not fit into 100,000 bytes" in done.err
    assert answer(kreplica("whatif", "prove", *TINY, "--memory", "100kB", "-o", "json"))["verdict"]["holds"] is None
    least = kreplica("whatif", "prove", *TINY, "--memory", "1")
    assert least.code == 5
    assert "unbroken in 1 state on 1 level, of more" in least.out
    assert "ended after 1 state: " in least.err


def test_a_search_that_goes_on_tells_states_rate_and_frontier() -> None:
    line = progress_line(Progress(distinct=12_345, waiting=2_345, depth=7), seconds=0.5)
    assert line == "12,345 states, 24,690 states/s, 2,345 to go on from, level 7"
    assert progress_line(Progress(distinct=20, waiting=10, depth=2), 0.0) == "20 states, 10 to go on from, level 2"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--model", "kip-102"), "there is no model 'kip-102'; did you mean kip-101"),
        (("--invariant", "strongisr"), "there is no invariant 'strongisr'; did you mean strong-isr"),
        (("--memory", "much"), "--memory"),
        (("--replicas", "0"), "--replicas"),
        (("--save", "/nowhere/file.json", *TINY), "cannot write /nowhere/file.json"),
    ],
)
def test_what_cannot_be_used_is_told(kreplica: Kreplica, words: tuple[str, ...], told: str) -> None:
    done = kreplica("whatif", "prove", *words)
    assert done.code == 2
    assert told in " ".join(done.err.split())


def test_without_numba_it_goes_on_in_plain_python(kreplica: Kreplica, monkeypatch: pytest.MonkeyPatch) -> None:
    from kreplica.engine.explorer import proof

    monkeypatch.setattr(proof, "find_spec", lambda name: None if name == "numba" else util.find_spec(name))
    monkeypatch.setattr(proof, "PLAIN_STATES", 100)
    done = kreplica("whatif", "prove", *TINY)
    assert "957 states" in done.out
    assert "searched without numba, so slowly" in done.err
    assert "kreplica[prove]" in done.err


@pytest.mark.slow
def test_with_numba_a_larger_search_is_compiled(
    kreplica: Kreplica, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from kreplica.engine.explorer import proof

    monkeypatch.setenv("KREPLICA_CACHE", str(tmp_path))
    monkeypatch.setattr(proof, "PLAIN_STATES", 100)
    done = kreplica("whatif", "prove", *TINY)
    assert (done.code, done.err) == (0, "")
    assert "957 states on 15 levels" in done.out
    assert list((tmp_path / "compiled").rglob("*.nbc"))


def test_a_kraft_model_and_its_bounds(kreplica: Kreplica) -> None:
    """TLC counts 1,260 states on 21 levels with two brokers, min ISR 1, one fence and no loss, with ELR or without."""
    words = ("--replicas", "2", "--min-isr", "1", "--fences", "1", "--losses", "0", "--stops", "0", "--shrinks", "0")
    done = kreplica("whatif", "prove", "--model", "kip-966", *words, "--invariant", "recovery-quorum", "-o", "json")
    assert done.code == 0
    verdict = answer(done)["verdict"]
    assert (verdict["distinct"], verdict["depth"], verdict["holds"]) == (1_260, 21, True)
    bounds = {"replicas": 2, "records": 1, "min_isr": 1, "isr": 2, "fences": 1, "losses": 0, "stops": 0, "shrinks": 0}
    assert verdict.items() >= {**bounds, "messages": 8}.items()
    assert "log" not in verdict


def test_the_story_of_the_last_replica_standing(kreplica: Kreplica) -> None:
    """8 states by TLC."""
    words = ("--model", "kraft", "--in-sync", "2", "--fences", "1")
    done = kreplica("whatif", "prove", *words, "-o", "json")
    assert done.code == 1
    rows = answer(done)["steps"]
    assert [row["step"] for row in rows] == list(range(8))
    (lost,) = (row for row in rows if row["action"] == "lose-log")
    assert (lost["leader"], lost["isr"]) == (None, [1])
    assert rows[-1]["leader"] == 1
    assert rows[-1]["brokers"][0]["log"] == []
    told = kreplica("whatif", "prove", *words).out
    assert "broker-1: crashed, disk lost" in told
    assert "kreplica whatif prove --model kraft --in-sync 2 --fences 1 --save-plan plan.json" in told


def test_requests_for_an_isr_that_are_under_way(kreplica: Kreplica) -> None:
    """84 states by TLC with two replicas, two records and the partition epochs 0 to 2."""
    words = ("--model", "async-isr", "--replicas", "2", "--log", "2", "--epochs", "2")
    verdict = answer(kreplica("whatif", "prove", *words, "-o", "json"))["verdict"]
    assert verdict.items() >= {"replicas": 2, "log": 2, "epochs": 2, "distinct": 84, "depth": 12, "holds": True}.items()
    done = kreplica("whatif", "prove", "--model", "async-isr-m1")
    assert done.code == 1
    assert "BROKEN valid-high-watermark after 6 steps, of async-isr-m1" in done.out
    assert "next     kreplica whatif prove --model async-isr\n" in done.out
    refused = kreplica("whatif", "prove", "--model", "async-isr", "--records", "1")
    assert (refused.code, "--records is no bound of async-isr; one of --replicas, --log, --epochs" in refused.err) == (
        2,
        True,
    )


def test_answers_that_are_under_way(kreplica: Kreplica) -> None:
    """KAFKA-7786: nine steps in 2.1.0, none in 2.1.1; the run of the plan has an ISR that does not settle."""
    done = kreplica("whatif", "prove", "--model", "epoch-answers-2.1", "-o", "json")
    assert done.code == 1
    document = answer(done)
    assert document["verdict"].items() >= {"replicas": 2, "epochs": 2, "holds": False}.items()
    assert document["steps"][-1]["step"] == 9
    flawed, mended = document["replays"]["stopped-is-behind"]["runs"]
    assert (flawed["kafka_version"], flawed["broken"]) == ("2.1", ["isr-does-not-settle-after-faults"])
    assert (mended["kafka_version"], mended["broken"]) == ("2.1.1", [])
    refused = kreplica("whatif", "prove", "--model", "epoch-answers-2.1", "--replicas", "4")
    assert (refused.code, "epoch-answers-2.1 has 2 to 3 replicas" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--log", "1"), "--log is no bound of kip-966; one of --replicas, "),
        (("--epochs", "1"), "--epochs is no bound of kip-966"),
        (("--replicas", "5"), "kip-966 has room for 4 replicas and 4 records"),
        (("--fences", "8"), "kip-966 has room for 14 decisions; so many faults lead to "),
        (("--min-isr", "2", "--in-sync", "1"), "1 replica cannot be in sync at first, of 3 with min ISR 2"),
        (("--replicas", "2", "--in-sync", "3"), "3 replicas cannot be in sync at first, of 2 with min ISR 2"),
        (("--messages", "1"), "give more with --messages"),
        (("--invariant", "strong-isr"), "there is no invariant 'strong-isr'"),
    ],
)
def test_bounds_that_a_kraft_model_has_not(kreplica: Kreplica, words: tuple[str, ...], told: str) -> None:
    done = kreplica("whatif", "prove", "--model", "kip-966", *words)
    assert done.code == 2
    assert told in " ".join(done.err.split())


def test_brokers_that_are_taken_for_each_other(kreplica: Kreplica) -> None:
    """TLC counts 5,973 states of two replicas; none but the first is the same with its brokers exchanged."""
    done = kreplica("whatif", "prove", "--replicas", "2", "--symmetry", "-o", "json")
    verdict = answer(done)["verdict"]
    assert done.code == 0
    assert (verdict["symmetry"], verdict["distinct"], verdict["depth"]) == (True, (5_973 + 1) // 2, 18)
    shown = kreplica("whatif", "prove", "--replicas", "2", "--symmetry")
    assert "2,987 states up to exchange of brokers" in shown.out
    refused = kreplica("whatif", "prove", "--model", "kraft", "--symmetry")
    assert refused.code == 2
    assert "--symmetry is no option of kraft; leave it out; models of one partition" in " ".join(refused.err.split())


def test_settings_and_a_number_of_faults(kreplica: Kreplica) -> None:
    """With acks=1 a record is lost once its leader is fenced; with acks=all the other replica has it."""
    words = ("whatif", "prove", "--model", "settings-4.1", "--replicas", "2", "--faults", "1", "--losses", "1")
    done = kreplica(*words, "--set", "acks=1", "--set", "unclean.leader.election.enable=false", "-o", "json")
    assert done.code == 1
    document = answer(done)
    verdict = document["verdict"]
    settings = {"acks": "1", "min_isr": 2, "unclean": False, "faults": 1, "losses": 1, "stops": 1}
    assert verdict.items() >= settings.items()
    assert [row["action"] for row in document["steps"]] == [None, "write", "cut-off", "hear"]
    assert [one["log"] for one in document["steps"][-1]["brokers"]] == [[{"record": "m1", "leader_epoch": 0}], []]
    held = kreplica(*words, "--set", "acks=all", "--set", "min.insync.replicas=1", "--stops", "0")
    assert held.code == 0
    assert "HOLDS acknowledged-kept of settings-4.1" in held.out
    assert "acks=all, min.insync.replicas=1, unclean.leader.election.enable=false; 2 replicas" in held.out


def test_a_loss_of_acks_1_is_played_and_the_next_line_saves_its_plan(
    kreplica: Kreplica, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leader that nobody fetches from is fenced; with acks=all its record is not acknowledged."""
    monkeypatch.chdir(tmp_path)
    words = ("whatif", "prove", "--model", "settings-4.1", "--first-leader", "1", "--set", "acks=1")
    told = kreplica(*words)
    assert "4.1, acks=all: SAFE" in told.out
    following = next(line for line in told.out.splitlines() if line.startswith("next"))
    assert following == f"next     kreplica {' '.join(words)} --save-plan plan.json"
    assert kreplica(*following.split()[2:]).code == 1
    played = kreplica("whatif", "run", "--plan", "plan.json")
    assert "LOST m1 although acknowledged; 1 record acknowledged of 1 sent" in played.out


def test_the_broker_that_leads_at_first(kreplica: Kreplica) -> None:
    words = ("whatif", "prove", "--model", "settings-4.1", "--replicas", "2", "--set", "acks=1", "-o", "json")
    for first, leader in (((), 1), (("--first-leader", "2"), 2)):
        document = answer(kreplica(*words, *first))
        assert document["verdict"]["first_leader"] == (leader if first else None)
        begins = document["steps"][0]
        assert (begins["leader"], begins["what"]) == (leader, f"broker {leader} leads, every replica is in sync")
        assert document["steps"][1]["what"].startswith(f"a producer writes a record to broker {leader}")


POWER = ("whatif", "prove", "--model", "settings-3.9", "--first-leader", "1", "--stops", "0", "--cut-offs", "0")


def test_a_loss_of_power_is_told_and_played_and_flushing_keeps_the_record(kreplica: Kreplica, tmp_path: Path) -> None:
    """Written, fetched and told twice each; the power fails, all expire, the last member comes back and leads: 12."""
    file = tmp_path / "power.json"
    words = (*POWER, "--power-losses-of-all", "1")
    done = kreplica(*words, "--save-plan", str(file), "-o", "json")
    assert done.code == 1
    document = answer(done)
    assert document["verdict"].items() >= {"power_losses": 0, "power_losses_of_all": 1, "cut_offs": 0}.items()
    assert document["verdict"]["flush_messages"] is None
    assert (document["steps"][-1]["step"], document["steps"][6]["action"]) == (12, "all-lose-power")
    lost, kept = document["replays"]["acknowledged-kept"]["runs"]
    assert (lost["lost"], kept["lost"]) == (["m1"], [])
    assert kept["settings"] == {**lost["settings"], "flush.messages": "1"}
    assert answer(kreplica("whatif", "run", "--plan", str(file), "-o", "json"))["outcome"]["lost"] == ["m1"]
    flushing = kreplica(*POWER, "--power-losses", "1", "--set", "flush.messages=1")
    assert flushing.code == 0
    assert "flush.messages=1; 3 replicas, 1 record written, 1 fault" in flushing.out
    assert "losses of power: 1 of one broker, 0 of all at once; 0 fenced or slow while up" in flushing.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--set", "acks=0"), "acks is 1 or all"),
        (("--set", "acks"), "--set 'acks' is none of: acks=1 or all"),
        (("--set", "min.insync.replicas=4"), "min.insync.replicas is 1 at least, at most the number of replicas"),
        (("--losses", "2"), "of each kind there are at most as many as --faults"),
        (("--power-losses-of-all", "2"), "losses of power are faults, too"),
        (
            ("--faults", "5", "--power-losses-of-all", "5"),
            "settings-3.9 has room for 30 leader epochs; so many faults lead to 36",
        ),
        (("--set", "flush.messages=0"), "flush.messages=1 to 3"),
        (("--replicas", "5"), "settings-3.9 has room for 4 replicas and 3 records"),
        (("--replicas", "2", "--first-leader", "3"), "broker 3 cannot lead at first: brokers are 1 to 2"),
    ],
)
def test_settings_that_cannot_be_explored(kreplica: Kreplica, words: tuple[str, ...], told: str) -> None:
    done = kreplica("whatif", "prove", "--model", "settings-3.9", *words)
    assert done.code == 2
    assert told in " ".join(done.err.split())


def test_settings_of_a_model_that_has_none(kreplica: Kreplica) -> None:
    done = kreplica("whatif", "prove", "--model", "kip-320", "--set", "acks=1")
    assert done.code == 2
    assert "--set acks is no bound of kip-320" in done.err


def test_bounds_of_another_family_are_refused() -> None:
    import kreplica
    from kreplica.errors import UsageError

    with pytest.raises(UsageError, match="the bounds of kip-966 are KraftBounds, not Bounds"):
        kreplica.whatif_prove("kip-966", kreplica.Bounds(3, 2, 2, 2))
    done = kreplica.whatif_prove("kip-966", kreplica.KraftBounds(2, 1, 1, 2, 0, 0, 0, 0, 8))
    assert (done.found.distinct, done.verdict["holds"]) == (14, True)


def test_a_goal_is_told_as_an_invariant_is(kreplica: Kreplica) -> None:
    """The published controller removes both members from the ISR before anybody leads."""
    words = ("--replicas", "2", "--invariant", "write-taken")
    done = kreplica("whatif", "prove", *words, "-o", "json")
    assert done.code == 1
    document = answer(done)
    (told,) = document["verdict"]["invariants"]
    assert (told["name"], told["holds"], told["counterexample_states"]) == ("write-taken", False, 3)
    assert [row["action"] for row in document["steps"]] == [None, "remove-from-isr", "remove-from-isr"]
    assert document["steps"][-1]["isr"] == []
    assert document["replays"] == {}
    (reason,) = document["without_plan"].values()
    assert reason == "a goal is broken if a state is never reached; a run ends, so it cannot show that"
    held = kreplica("whatif", "prove", "--model", "kip-320-last-kept", *words, "--invariant", "strong-isr")
    assert held.code == 0
    assert "HOLDS write-taken, strong-isr of kip-320-last-kept" in held.out
    assert "write-taken: without faults there is a leader that takes and commits writes, in the end" in held.out


def test_a_model_of_clients_and_one_of_the_quorum(kreplica: Kreplica) -> None:
    """The late EndTxn of the first transaction commits the second; a voter that forgets its vote elects two leaders."""
    done = kreplica("whatif", "prove", "--model", "end-txn-1", "--faults", "1")
    assert done.code == 1
    assert "BROKEN ends-as-asked after 6 steps, of end-txn-1" in done.out
    assert "the delayed request of transaction 1 arrives" in done.out
    assert "transfer: transaction 1 committed" in done.out.partition("The same as a diagram")[2]
    assert "4.3, transaction.version=2: SAFE" in done.out
    torn, whole = answer(kreplica("whatif", "prove", "--model", "end-txn-1", "-o", "json"))["replays"]["ends-as-asked"][
        "runs"
    ]
    assert torn["verdict"].startswith("ODD: readable in part: transfer 2")
    assert whole["verdict"].startswith("SAFE: nothing lost")
    refused = kreplica("whatif", "prove", "--model", "end-txn-2", "--records", "4")
    assert (refused.code, "end-txn-2 has room for 3 records and 3 faults" in refused.err) == (2, True)
    words = ("--log", "1", "--epochs", "1", "--fences", "0", "--invariant", "one-leader")
    done = kreplica("whatif", "prove", "--model", "quorum-m2", *words)
    assert done.code == 1
    assert "BROKEN one-leader after 7 steps, of quorum-m2" in done.out
    assert "CONTROLLER 3" in done.out
    refused = kreplica("whatif", "prove", "--model", "quorum", "--fences", "2")
    assert (refused.code, "one controller at most that is cut off" in refused.err) == (2, True)


def test_a_model_of_the_transaction_coordinator(kreplica: Kreplica) -> None:
    """A producer whose epoch nobody compares adds to the transaction of the next one."""
    done = kreplica("whatif", "prove", "--model", "coordinator-m1", "--invariant", "owner-adds", "--faults", "0")
    assert done.code == 1
    assert "BROKEN owner-adds after 9 steps, of coordinator-m1" in done.out
    assert "2 producers with one transactional id, 2 brokers, 1 partition to add; 0 elections" in done.out
    assert "next     kreplica whatif prove --model coordinator-4.1\n" in done.out
    refused = kreplica("whatif", "prove", "--model", "coordinator", "--clients", "4")
    assert (refused.code, "coordinator has room for 3 clients, 3 replicas" in refused.err) == (2, True)


def test_a_model_of_a_consumer_group(kreplica: Kreplica) -> None:
    """A partition that counts as given up before its owner has said so is owned twice."""
    words = ("--partitions", "1", "--invariant", "owned-once")
    done = kreplica("whatif", "prove", "--model", "consumer-group-m2", *words)
    assert done.code == 1
    assert "BROKEN owned-once after 16 steps, of consumer-group-m2" in done.out
    assert "2 clients, 1 topic of one partition; 0 faults" in done.out
    assert "CLIENT 2" in done.out
    assert "next     kreplica whatif prove --model consumer-group\n" in done.out
    refused = kreplica("whatif", "prove", "--model", "consumer-group", "--faults", "2")
    assert (refused.code, "consumer-group has room for 2 clients, 2 partitions and 1 fault" in refused.err) == (2, True)


def test_a_model_of_a_consumer_group_with_kafkas_client(kreplica: Kreplica) -> None:
    """A partition that is given before it is free; bounds that are too large."""
    words = ("--invariant", "given-once", "--time-outs", "1")
    done = kreplica("whatif", "prove", "--model", "consumer-group-4.2-m1", *words)
    assert done.code == 1
    assert "BROKEN given-once after 4 steps, of consumer-group-4.2-m1" in done.out
    assert "2 clients, 2 partitions; 0 faults, 1 time-out" in done.out
    assert "client 2 joins, has no partitions" in done.out
    assert "next     kreplica whatif prove --model consumer-group-4.3-mended\n" in done.out
    refused = kreplica("whatif", "prove", "--model", "consumer-group-4.2", "--clients", "4")
    room = "consumer-group-4.2 has room for 3 clients, 3 partitions, 3 faults and 2 time-outs"
    assert (refused.code, room in refused.err) == (2, True)


def test_the_help_says_where_models_and_their_invariants_are_listed(kreplica: Kreplica) -> None:
    told = " ".join(kreplica("whatif", "prove", "--help").out.split())
    assert "kreplica whatif models lists them" in told
    assert "kreplica whatif model NAME" in told
