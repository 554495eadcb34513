"""Faults planted in snapshots: each is named or said not to be known, and nothing else is ever claimed."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st
from planted.faults import FAULTS, Planted, Truth

from kreplica.health.causes import Explanation, explain
from kreplica.health.causes.smallest_set import find_culprits
from kreplica.model.predicates.evaluate import Evaluator

SINGLED_OUT = {
    "broker_gone": {"broker-gone 3"},
    "broker_fenced": {"broker-fenced 3"},
    "rack_fenced": {"rack-gone b"},
    "directory_offline": {"log-directory-offline 4"},
    "replica_offline": {"replica-offline 4"},
    "slow_leader": {"slow-leader 5"},
    "paused_leader": {"slow-leader 5"},
    "slow_follower": {"slow-follower 6"},
    "stopped_follower": {"slow-follower 6"},
    "slow_broker": {"slow-broker 5"},
    "one_pair": {"leader-to-follower 7 8"},
    "restarted": {"broker-out 2"},
    "throttle_followers": {"throttle"},
    "throttle_leaders": {"throttle"},
    "slow_follower_with_a_throttle_left_behind": {"slow-follower 6"},
    "throttle_without_a_rate": {"slow-follower 6"},
    "gone_and_slow": {"broker-fenced 3", "slow-leader 5"},
    "last_in_sync_gone": {"broker-fenced 3"},
}
"""The faults that the facts single out, without noise, and the whole verdict then."""


NOT_KNOWN = {
    "hot_partitions",
    "hot_topic",
    "slow_way_between_racks",
    "slow_way_to_a_small_rack",
    "everything_slow",
}
"""Faults that no rule is for: nothing may be claimed of them."""

LEAST_NAMED = {
    "broker_gone": 1.0,
    "broker_fenced": 1.0,
    "rack_fenced": 1.0,
    "directory_offline": 1.0,
    "replica_offline": 1.0,
    "reassignment": 1.0,
    "last_in_sync_gone": 1.0,
    "restarted": 0.95,
    "gone_and_slow": 0.85,
    "slow_follower": 0.85,
    "stopped_follower": 0.85,
    "throttle_without_a_rate": 0.85,
    "throttle_followers": 0.8,
    "slow_follower_with_a_throttle_left_behind": 0.75,
    "slow_broker": 0.7,
    "slow_leader": 0.6,
    "throttle_leaders": 0.6,
    "paused_leader": 0.5,
    "one_pair": 0.3,
}
"""Shares of the replicas that are named over clusters of every size with noise."""


def claims(why: Explanation) -> Truth:
    """What rows say of each missing replica, in the words of the truth."""
    topics, numbers = why.facts.snapshot.strings("topic"), why.facts.snapshot.integers("partition").values
    found: Truth = {}
    rows = np.arange(len(numbers))
    for row, causes in zip(rows.tolist(), why.causes(rows), strict=True):
        for cause in causes:
            stands_on = {
                "slow-leader": f"{cause.get('leader')}",
                "leader-to-follower": f"{cause.get('leader')} {cause['broker']}",
                "no-leader": f"{dict(cause.get('evidence') or {}).get('waits_for')}",  # type: ignore[call-overload]
            }.get(str(cause["kind"]), str(cause["broker"]))
            key = ((str(topics[row]), int(numbers[row])), int(str(cause["broker"])))
            found[key] = f"{cause['kind']} {stands_on}"
    return found


def verdict(why: Explanation) -> set[str]:
    found = find_culprits(why, np.flatnonzero(why.affected)).culprits
    return {
        " ".join(str(part) for part in (one.key.kind, one.key.leader, one.key.broker, one.key.rack) if part is not None)
        for one in found
        if one.certain
    }


def explained(planted: Planted) -> Explanation:
    return explain(Evaluator(planted.snapshot()))


@pytest.mark.parametrize("fault", SINGLED_OUT)
def test_a_fault_alone_is_named_for_every_replica_and_as_the_one_cause(fault: str) -> None:
    planted = Planted(seed=7)
    FAULTS[fault](planted)
    why = explained(planted)
    assert claims(why) == planted.truth
    assert verdict(why) == SINGLED_OUT[fault]
    assert find_culprits(why, np.flatnonzero(why.affected)).open == ()


def test_a_reassignment_is_named_where_nothing_else_is_wrong() -> None:
    planted = Planted(seed=7)
    FAULTS["reassignment"](planted)
    why = explained(planted)
    assert claims(why) == planted.truth
    assert not why.affected.any()
    found = find_culprits(why, np.flatnonzero(why.facts.snapshot.lists("adding").lengths()))
    assert sum(one.partitions for one in found.culprits) == 20
    assert {one.key.kind for one in found.culprits} == {"reassignment"}


@pytest.mark.parametrize("fault", FAULTS)
@examples(0.12)
@example(seed=44, noise=0, brokers=9, racks=1, partitions=4)
@example(seed=6211, noise=2, brokers=20, racks=3, partitions=4)
@example(seed=6528, noise=4, brokers=12, racks=3, partitions=12)
@example(seed=3183, noise=4, brokers=9, racks=3, partitions=36)
@example(seed=4788, noise=4, brokers=9, racks=2, partitions=36)
@given(
    seed=st.integers(0, 10_000),
    noise=st.integers(0, 6),
    brokers=st.sampled_from([9, 12, 20]),
    racks=st.sampled_from([1, 2, 3]),
    partitions=st.sampled_from([4, 12, 36]),
)
def test_no_wrong_cause_is_ever_claimed(
    fault: str, seed: int, noise: int, brokers: int, racks: int, partitions: int
) -> None:
    planted = Planted(seed, broker_count=brokers, racks=racks, partitions_each=partitions)
    FAULTS[fault](planted)
    planted.noise(noise)
    for key, claimed in claims(explained(planted)).items():
        truth = planted.truth[key]
        if claimed.startswith("broker-out "):  # a slow follower of nothing but busy topics looks just so
            truth = truth.replace("slow-follower", "broker-out")
        assert claimed == truth, (fault, seed, key)
    if fault in NOT_KNOWN:
        assert not [key for key in claims(explained(planted)) if planted.truth[key] != "noise"]


@pytest.mark.parametrize("fault", LEAST_NAMED)
def test_a_least_share_of_the_replicas_is_named(fault: str) -> None:
    named = missing = 0
    for seed in range(12):
        brokers, racks, partitions = (9, 12, 20)[seed % 3], (1, 2, 3)[seed // 3 % 3], (4, 12, 36, 36)[seed // 3]
        planted = Planted(seed, brokers, racks, partitions_each=partitions)
        FAULTS[fault](planted)
        planted.noise(seed % 4)
        of_the_fault = {key for key, truth in planted.truth.items() if truth != "noise"}
        named += len(of_the_fault & claims(explained(planted)).keys())
        missing += len(of_the_fault)
    assert missing > 0
    assert named >= LEAST_NAMED[fault] * missing, f"{named} of {missing}"


def test_every_fault_is_named_or_known_not_to_be() -> None:
    assert FAULTS.keys() == LEAST_NAMED.keys() | NOT_KNOWN | {"two_slow_leaders"}


def test_two_slow_leaders_hide_one_another_and_stay_open_questions() -> None:
    planted = Planted(seed=5)
    FAULTS["two_slow_leaders"](planted)
    why = explained(planted)
    affected = {place for place, _ in planted.truth}
    open_questions = find_culprits(why, np.flatnonzero(why.affected)).open
    assert sum(one.partitions for one in open_questions) >= 0.9 * len(affected)


@pytest.mark.parametrize("fault", ["slow_leader", "slow_follower", "one_pair", "restarted", "throttle_followers"])
def test_little_noise_hides_no_fault(fault: str) -> None:
    planted = Planted(seed=3)
    FAULTS[fault](planted)
    planted.noise(2)
    assert verdict(explained(planted)) >= SINGLED_OUT[fault]


@pytest.mark.parametrize("racks", [2, 3])
@pytest.mark.parametrize("fault", sorted(NOT_KNOWN))
def test_what_no_rule_is_for_is_not_known(fault: str, racks: int) -> None:
    planted = Planted(seed=5, racks=racks)
    FAULTS[fault](planted)
    why = explained(planted)
    assert claims(why) == {}
    open_questions = find_culprits(why, np.flatnonzero(why.affected)).open
    assert sum(one.partitions for one in open_questions) >= 2
    assert all(one.read for one in open_questions)


def test_the_way_between_two_brokers_is_not_blamed_where_one_of_them_is_slow_in_its_other_role() -> None:
    planted = Planted(seed=1)
    FAULTS["paused_leader"](planted)
    for place, broker in planted.copies(leader=7, follower=5):
        planted.lose(place, broker, "slow-follower 5")
    said = claims(explain(Evaluator(planted.snapshot())))
    assert "slow-leader 5" in said.values()
    assert not [claim for claim in said.values() if claim.startswith("leader-to-follower")]
