"""With the settings that promise safety nothing acknowledged is ever lost: random clusters, settings, clients, faults.

A run in which nothing was acknowledged under a fault does not count: hypothesis draws another one. A longer search,
with the coverage of rules by outcome, is ``python benchmarks/engine/safety.py``.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from examples import examples
from hypothesis import assume, given
from hypothesis import strategies as st

from kreplica.engine import Version, observe, version_named
from kreplica.engine.checkers.outcome import measure
from kreplica.engine.fuzzing.plans import KEEPS_DISKS, FaultKind, Profile, near_plan
from kreplica.engine.fuzzing.setups import PROMISES, random_run, with_settings
from kreplica.engine.versions.supported import Truncation
from kreplica.scenarios import scenario_named

SAFE = ("2.1", "2.5", "2.7", "3.5", "3.7", "3.9", "3.9-kraft", "4.0", "4.1")
"""Versions whose rules are whole: KIP-320 fenced the last way to lose what is committed; 3.4.1 has KAFKA-14704."""

RUNS = 1.12
"""Share of the profile's examples for each version: 500 in all."""


@pytest.mark.slow
@pytest.mark.parametrize("version", SAFE)
@examples(RUNS)
@given(seed=st.integers(0, 2**32))
def test_nothing_acknowledged_is_lost(version: str, seed: int) -> None:
    setup, plan = random_run(seed, version_named(version))
    outcome, _ = observe(setup, plan, version_named(version), seed, keep=False)
    assume(outcome.histories.acknowledged_under_faults)
    assert outcome.findings == (), f"seed {seed} of {version}"
    assert outcome.keeps_promises, f"seed {seed} of {version}"


def first_failing(version: str, seeds: range, changes: dict[str, int | bool | str]) -> int | None:
    rules = version_named(version)
    for seed in seeds:
        setup, plan = random_run(seed, rules)
        outcome, _ = observe(with_settings(setup, changes), plan, rules, seed, keep=False)
        if outcome.histories.lost if "acks" in changes else not outcome.keeps_promises:
            return seed
    return None


def near(name: str, version: Version, wrong: str, seeds: int) -> int:
    """How many runs around a scenario fail: its times moved a little, its links with jitter."""
    scenario = scenario_named(name)
    found = 0
    for seed in range(seeds):
        chance = Random(f"near {seed}")
        setup = scenario.setup.with_settings({"jitter.us": chance.choice((0, 50, 200))})
        outcome, _ = observe(setup, near_plan(scenario.plan, chance), version, seed, keep=False)
        found += bool(measure(outcome, wrong))
    return found


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("scenario", "version", "without", "wrong"),
    [
        ("hw-truncation-loss", "2.1", {"truncation": Truncation.HIGH_WATERMARK}, "committed_lost"),
        ("fast-failover-divergence", "2.1", {"truncation": Truncation.KIP_101}, "diverged"),
        ("premature-isr-join", "2.1", {"join_at_epoch_start": False}, "committed_lost"),
        ("unfenced-fetch", "2.1", {"fenced_fetch": False}, "committed_lost"),
        ("stale-leader-truncation", "2.1.1", {"stale_epoch_ends_dropped": False}, "committed_lost"),
        ("rebooted-follower", "3.5-kraft", {"broker_epoch_in_isr": False}, "committed_lost"),
        ("last-replica-standing", "4.3", {"elr": False}, "committed_lost"),
    ],
)
def test_a_rule_that_is_missing_is_caught_and_the_rule_holds(
    scenario: str, version: str, without: dict[str, object], wrong: str
) -> None:
    rules = version_named(version)
    assert near(scenario, rules, wrong, 12) == 0
    assert near(scenario, replace(rules, **without), wrong, 12) > 0  # type: ignore[arg-type]


NOT_IDEMPOTENT: dict[str, int | bool | str] = {"enable.idempotence": False}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "changes", "seeds"),
    [("4.1", {"acks": 1, **NOT_IDEMPOTENT}, 40), ("4.1", {"acks": 0, **NOT_IDEMPOTENT}, 20), ("0.10", {}, 20)],
    ids=["acks=1", "acks=0", "truncation by high watermark"],
)
def test_the_same_search_finds_what_is_unsafe(version: str, changes: dict[str, int | bool | str], seeds: int) -> None:
    assert set(changes) <= {*PROMISES, *NOT_IDEMPOTENT}
    assert first_failing(version, range(seeds), changes) is not None


LATER_KINDS = (FaultKind.LATE_METADATA, FaultKind.BREAK_CONNECTION, FaultKind.REFUSE_REQUEST)
SEARCHED = Profile(tuple(kind for kind in KEEPS_DISKS if kind not in LATER_KINDS))
"""The faults that there were when these seeds were found: with others they are other plans."""


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("version", "seed"),
    [
        ("2.5", 3043),  # an answer was lost, later ones came: the leader forgot the batch before it was sent again
        ("4.1", 1565),  # a broker asked for the ISR of a leadership that was over
        ("2.1", 14733),  # a log directory failed, and was told of once a move had removed its replica
        ("3.5", 43509),  # the same, of a move that a new controller goes on with
        ("3.7", 33673),  # records were given up before a replica that was back had joined the ISR
        ("3.9", 35159),
        ("3.5", 55452),
        ("2.1", 69858),
        ("3.7", 25105),  # the answer to the controller's write of an ISR was lost: the leader waits for an election
        ("4.0", 76003),  # a leader forgot an ISR that it waited for: Kafka's own, see test_strong_isr
        ("2.1", 27594),  # a restarted broker led by a request for its earlier run, and did not know of its own ISR
        ("3.5", 52707),  # the same, since 2.2 with the broker epoch of the earlier run
        ("2.1", 79209),  # the same
        ("2.7", 96716),  # new batches went ahead of those whose requests had not timed out yet
        ("4.1", 61703),  # likewise, and the batches that were left were sent once more in the next epoch
        ("3.9-kraft", 55194),  # a leader after a clean stop: of the five batches sent again it knew the last alone
        ("4.1", 47906),  # likewise, of two batches
        ("2.1", 7704),  # the controller missed a broker that was away briefly, as it does up to 2.1
        ("2.7", 29063),  # the controller missed the watch of a broker that left
        ("3.9", 35222),  # and of one that came back
        ("2.7", 26678),  # ISRs that waited for the controller when its session ended got no answer
        ("3.7", 29128),  # nor did the one in its hand
        ("2.5", 54514),  # a broker took its own registration, whose answer was lost, for that of an earlier session
    ],
)
def test_what_a_search_has_found_holds_from_then_on(version: str, seed: int) -> None:
    rules = version_named(version)
    setup, plan = random_run(seed, rules, SEARCHED)
    outcome, _ = observe(setup, plan, rules, seed, keep=False)
    assert outcome.keeps_promises, outcome.findings
