"""Effects of a failure and of a rolling restart: impacts, those that are there already, the quorum, leaders, losses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from clusters.generated import clusters, partition, snapshot_of
from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine.projection.changes import Changes, with_changes
from kreplica.health.impact.fail import FailureJudgement, judge_failure, unclean_leaders
from kreplica.health.impact.loss_ranges import candidates, copies_to_ask, with_positions
from kreplica.health.impact.restart import judge_rolling_restart
from kreplica.health.impact.stop import Accepted, judge_stop
from kreplica.health.impact.vocabulary import FAILURE_IMPACTS, Impact
from kreplica.model.snapshot import ClusterSnapshot, LogPosition
from kreplica.model.tables.schema import QUORUM, REPLICAS
from kreplica.model.tables.table import Table

BROKERS = [{"broker": broker, "alive": True, "rack": f"r{broker}"} for broker in (1, 2, 3)]
DOWN_3 = [*BROKERS[:2], {"broker": 3, "alive": False}]
ELR = {"metadata.version": 25, "eligible.leader.replicas.version": 1}


def cluster(*rows: dict[str, Any], brokers: list[dict[str, Any]] = BROKERS, **facts: Any) -> ClusterSnapshot:
    numbered = [{"elr": [], "last_known_elr": [], **row, "partition": number} for number, row in enumerate(rows)]
    return snapshot_of(numbered, brokers, **{"source": "zookeeper", "controller": 1, **facts})


def with_voters(snapshot: ClusterSnapshot, *voters: int, silent: tuple[int, ...] = ()) -> ClusterSnapshot:
    rows = [
        {"node": node, "voter": True, "leader": node == voters[0], "last_fetch_ms": 1 if node in silent else 10**6}
        for node in voters
    ]
    return replace(snapshot, source="kafka", features=ELR, quorum=Table.from_rows(QUORUM, rows))


def impacts(judgement: FailureJudgement) -> list[tuple[str, bool] | None]:
    (step,) = judgement.steps
    return [
        None if impact < 0 else (FAILURE_IMPACTS[impact].value, already)
        for impact, already in zip(step.impacts.tolist(), step.already.tolist(), strict=True)
    ]


CASES = {
    "a follower": (partition(leader=2), BROKERS, ("smaller_isr", False)),
    "the leader": (partition(), BROKERS, ("new_leader", False)),
    "elsewhere": (partition(replicas=[2, 3], isr=[2], leader=2, min_isr=1), BROKERS, None),
    "elsewhere, in trouble": (partition(replicas=[2, 3], isr=[2], leader=2), BROKERS, None),
    "no room": (partition(min_isr=3), BROKERS, ("under_min_isr", False)),
    "under min ISR already": (partition(isr=[1, 2], min_isr=3), BROKERS, ("under_min_isr", True)),
    "the only replica": (partition(replicas=[1], isr=[1], min_isr=1), BROKERS, ("unavailable", False)),
    "the last in sync": (partition(isr=[1], min_isr=1), BROKERS, ("unavailable", False)),
    "the last in sync, unclean": (
        partition(isr=[1], min_isr=1, unclean_leader_election=True), BROKERS, ("unclean_leader", False)
    ),
    "no leader already": (partition(isr=[3], leader=-1), DOWN_3, ("unavailable", True)),
    "no leader already, elsewhere": (partition(replicas=[3], isr=[3], leader=-1), DOWN_3, None),
    "the metadata still has the dead one": (partition(), DOWN_3, ("under_min_isr", False)),
}  # fmt: skip


@pytest.mark.parametrize(("row", "brokers", "expected"), CASES.values(), ids=CASES)
def test_broker_1_crashes(
    row: dict[str, Any], brokers: list[dict[str, Any]], expected: tuple[str, bool] | None
) -> None:
    for snapshot in (cluster(row, brokers=brokers), with_voters(cluster(row, brokers=brokers), 2, 3)):
        judgement = judge_failure(snapshot, [1])
        assert impacts(judgement) == [expected]
        harmful = expected is not None and Impact(expected[0]).harmful and not expected[1]
        assert judgement.harms is harmful


def test_with_the_majority_gone_nobody_is_elected() -> None:
    snapshot = with_voters(cluster(partition(), partition(leader=2), partition(leader=2, isr=[2, 3])), 1, 2, 3)
    two_left = judge_failure(snapshot, [1])
    assert impacts(two_left) == [("new_leader", False), ("smaller_isr", False), None]
    one_left = judge_failure(with_voters(snapshot, 1, 2, 3, silent=(3,)), [1])
    assert impacts(one_left) == [("unavailable", False), ("isr_frozen", False), None]
    assert one_left.steps[0].after.partitions["leader"].to_list() == [1, 2, 2]
    assert [(one.broker, one.before, one.after) for one in one_left.leaders] == [(1, 1, 0), (2, 2, 2), (3, 0, 0)]


def test_a_controller_that_is_no_broker() -> None:
    lost = judge_failure(with_voters(cluster(partition()), 9), [9])
    assert lost.harms
    assert impacts(lost) == [None]
    assert not judge_failure(with_voters(cluster(partition()), 8, 9, 10), [9]).harms


def test_a_majority_that_was_gone_before_is_no_harm_of_this() -> None:
    snapshot = with_voters(cluster(partition(leader=2, isr=[2, 3])), 11, 12, 13, silent=(12, 13))
    assert not judge_failure(snapshot, [12]).harms
    assert not judge_failure(snapshot, [1]).harms
    assert judge_failure(with_voters(snapshot, 11, 12, 13, silent=(13,)), [12]).harms


def test_changes_are_played_first() -> None:
    snapshot = with_voters(cluster(partition(), partition(isr=[1], min_isr=1)), 2, 3)
    assert impacts(judge_failure(snapshot, [1])) == [("new_leader", False), ("unavailable", False)]
    strict = judge_failure(snapshot, [1], changes=Changes(min_isr=3))
    assert impacts(strict) == [("under_min_isr", False), ("unavailable", False)]
    unclean = judge_failure(snapshot, [1], changes=Changes(unclean=True))
    assert impacts(unclean) == [("new_leader", False), ("unclean_leader", False)]


def test_a_changed_setting_ends_harm_that_was_there() -> None:
    rows = (
        partition(replicas=[1, 3], isr=[1], min_isr=2),
        partition(replicas=[1, 3], isr=[3], leader=-1, min_isr=1),
        partition(replicas=[3], isr=[3], leader=-1, min_isr=1),
        partition(),
    )
    snapshot = with_voters(cluster(*rows, brokers=DOWN_3), 1, 2)

    def mended(brokers: list[int], changes: Changes) -> list[list[int]]:
        step = judge_failure(snapshot, brokers, changes=changes).steps[0]
        return [step.mended(impact).tolist() for impact in (Impact.UNDER_MIN_ISR, Impact.UNAVAILABLE)]

    assert mended([], Changes(min_isr=1)) == [[0], []]
    assert mended([], Changes(unclean=True)) == [[], [1]]  # nobody has a replica of the third
    assert mended([1], Changes(min_isr=1)) == [[], []]  # its leader is gone now
    assert mended([], Changes(elr=False)) == [[], []]


def test_elr_on_keeps_who_left_under_min_isr() -> None:
    snapshot = with_voters(cluster(partition(isr=[1], min_isr=2)), 2, 3)
    on = judge_failure(snapshot, [1], changes=Changes(elr=True)).steps[0].after
    off = judge_failure(snapshot, [1], changes=Changes(elr=False)).steps[0].after
    facts = ("leader", "isr", "elr", "last_known_elr")
    assert [on.partitions[name][0] for name in facts] == [-1, [], [1], [1]]
    assert [off.partitions[name][0] for name in facts] == [-1, [1], [], []]


def test_a_changed_min_isr_clears_elrs_and_unclean_elects_at_once() -> None:
    row = partition(isr=[], leader=-1, elr=[3], last_known_elr=[3])
    snapshot = with_voters(cluster(row, brokers=DOWN_3), 1, 2)
    assert with_changes(snapshot, Changes(min_isr=1)).partitions["elr"].to_list() == [[]]
    elected = with_changes(snapshot, Changes(unclean=True))
    assert (elected.partitions["leader"].to_list(), elected.partitions["isr"].to_list()) == ([1], [[1]])
    judgement = judge_failure(snapshot, [2], changes=Changes(unclean=True))
    assert impacts(judgement) == [("unclean_leader", False)]


def test_unclean_elections_are_for_partitions_that_are_known_to_have_no_leader() -> None:
    """maybeElectUncleanLeaders goes by the leader that is written down, dead or not."""
    rows = [partition(leader=3, isr=[3]), partition(leader=None), partition(isr=[], leader=-1, elr=[3])]
    kraft = with_voters(cluster(*rows, brokers=DOWN_3), 1, 2)
    assert with_changes(kraft, Changes(unclean=True)).partitions["leader"].to_list() == [3, None, 1]
    zookeeper = with_changes(cluster(*rows[:2], brokers=DOWN_3), Changes(unclean=True))
    assert zookeeper.partitions["leader"].to_list() == [3, None]
    assert with_changes(kraft, Changes(elr=False)).partitions["elr"].to_list() == [[], [], []]
    assert with_changes(kraft, Changes(elr=True)).partitions["elr"].to_list() == [[], [], [3]]


def test_a_leader_that_is_not_known_may_be_there() -> None:
    """Its ISR is out of reach: an unclean election would set another."""
    row = partition(leader=None, isr=[3])
    for snapshot in (cluster(row, brokers=DOWN_3), with_voters(cluster(row, brokers=DOWN_3), 1, 2)):
        assert with_changes(snapshot, Changes(unclean=True)).partitions["isr"].to_list() == [[3]]


def test_zookeeper_elects_uncleanly_as_soon_as_it_may() -> None:
    rows = [partition(isr=[3], leader=-1), partition(isr=[1, 3], leader=-1), partition(isr=[2], leader=2)]
    elected = with_changes(cluster(*rows, brokers=DOWN_3), Changes(unclean=True))
    assert elected.partitions["leader"].to_list() == [1, 1, 2]
    assert elected.partitions["isr"].to_list() == [[1], [1], [2]]


def test_nobody_leads_from_a_log_directory_that_is_offline() -> None:
    row = partition(isr=[3], leader=-1, offline_replicas=[1])
    for snapshot in (cluster(row, brokers=DOWN_3), with_voters(cluster(row, brokers=DOWN_3), 1, 2)):
        assert with_changes(snapshot, Changes(unclean=True)).partitions["leader"].to_list() == [2]


def test_a_disk() -> None:
    copies = [
        {"topic": "orders", "partition": number, "broker": 1, "log_dir": path, "size": 1, "future": False}
        for number, path in enumerate(("/a", "/b"))
    ]
    snapshot = cluster(partition(), partition(), partition())
    snapshot = replace(snapshot, replicas=Table.from_rows(REPLICAS, copies))
    judgement = judge_failure(snapshot, [], [(1, "/a")])
    assert impacts(judgement) == [("new_leader", False), None, None]
    assert judgement.unknown == ("where broker 1 keeps 1 of its partitions is not known",)


def test_a_disk_while_nobody_can_elect() -> None:
    """Its broker lives, so that the metadata keep it as leader; it serves no read of what is gone."""
    copies = [
        {"topic": "orders", "partition": number, "broker": 1, "log_dir": "/a", "size": 1, "future": False}
        for number in range(2)
    ]
    snapshot = cluster(partition(), partition(leader=2), partition(replicas=[2, 3], isr=[2, 3], leader=2))
    snapshot = with_voters(replace(snapshot, replicas=Table.from_rows(REPLICAS, copies)), 9)
    judgement = judge_failure(snapshot, [9], [(1, "/a")])
    assert impacts(judgement) == [("unavailable", False), ("isr_frozen", False), None]
    assert judgement.harms


def test_what_is_not_known_is_said() -> None:
    assert judge_failure(cluster(partition(min_isr=None)), [1]).unknown == (
        "min.insync.replicas or the leader of 1 partition is not known",
    )
    quorum = "the controller quorum is not known: that it keeps its majority is taken for granted"
    elr = "whether eligible leader replicas (KIP-966) are on is not known, they are taken for off; --elr tells"
    text = cluster(partition(elr=[], last_known_elr=[]), source="describe-text")
    assert judge_failure(text, [1]).unknown == (quorum, elr)
    assert judge_rolling_restart(text, [1]).unknown == (elr, quorum)
    for changed in (True, False):
        assert judge_failure(text, [1], changes=Changes(elr=changed)).unknown == (quorum,)
    listed = cluster(partition(elr=[3], isr=[1, 2], last_known_elr=[]), source="describe-text")
    assert judge_failure(listed, [1]).unknown == (quorum,)
    elsewhere = partition(min_isr=None, replicas=[2, 3], isr=[2, 3], leader=2)
    assert judge_failure(cluster(elsewhere), [1]).unknown == ()
    out_of_sync = partition(min_isr=None, isr=[2, 3], leader=2)  # nothing becomes of it, and it has a replica there
    assert judge_failure(cluster(out_of_sync, elsewhere), [1]).unknown == (
        "min.insync.replicas or the leader of 1 partition is not known",
    )


def test_what_could_be_lost() -> None:
    rows = [
        partition(isr=[1], min_isr=1, unclean_leader_election=True, end_offset=40),
        partition(isr=[1], min_isr=1, replicas=[1, 3, 2]),
        partition(),
        partition(replicas=[1], isr=[1], min_isr=1),
    ]
    found = candidates(judge_failure(cluster(*rows), [1]).steps[0])
    assert [(one.partition, one.broker, one.elected, one.leader) for one in found] == [
        (0, 2, True, 1), (0, 3, False, 1), (1, 3, False, 1), (1, 2, False, 1)
    ]  # fmt: skip
    assert copies_to_ask(found) == {
        2: [("orders", 0), ("orders", 1)], 1: [("orders", 0), ("orders", 1)], 3: [("orders", 0), ("orders", 1)]
    }  # fmt: skip
    ends = {(0, 1): 50, (0, 2): 20, (1, 1): 7, (1, 2): 9, (1, 3): 7}
    read = [LogPosition("orders", number, broker, end, None, 0.0) for (number, broker), end in ends.items()]
    assert [one.lost for one in with_positions(found, read)] == [(20, 50), None, (7, 7), (7, 7)]
    assert found[0].as_row() == {
        "broker": 2, "elected": True, "end_offset": None, "lost_from": None, "lost_to": None
    }  # fmt: skip


def test_a_rolling_restart_moves_leaders_on_and_leaves_them_there() -> None:
    rows = [partition(leader=1), partition(leader=2, replicas=[2, 3, 1]), partition(leader=3, replicas=[3, 1, 2])]
    judgement = judge_rolling_restart(cluster(*rows), [1, 2, 3])
    assert not judgement.harms
    # 1 goes: partition 0 to 2. 2 goes: 0 to 1, 1 to 3. 3 goes: 1 to 2, 2 to 1.
    assert [(one.broker, one.before, one.after) for one in judgement.leaders] == [(1, 1, 2), (2, 1, 1), (3, 1, 0)]


def test_a_rolling_restart_counts_each_partition_once() -> None:
    judgement = judge_rolling_restart(cluster(partition(min_isr=3), partition(replicas=[1], isr=[1])), [1, 2, 3])
    assert [len(step.places(Impact.UNDER_MIN_ISR)) for step in judgement.steps] == [1, 1, 1]
    assert judgement.count(Impact.UNDER_MIN_ISR) == 1
    assert judgement.count(Impact.UNAVAILABLE) == 1
    assert judgement.leaders[0].after == 2, "the only replica leads again, and what broker 2 had taken over came back"


def test_an_unclean_leader_stays_and_the_other_rejoins() -> None:
    row = partition(replicas=[1, 2], isr=[1], min_isr=1, unclean_leader_election=True)
    judgement = judge_rolling_restart(cluster(row), [1, 2])
    first, second = judgement.steps
    assert first.after.partitions["leader"].to_list() == [2]
    assert second.before.partitions["isr"].to_list() == [[1, 2]]
    assert second.after.partitions["leader"].to_list() == [1]


def test_a_rolling_restart_of_the_only_voter() -> None:
    judgement = judge_rolling_restart(with_voters(cluster(partition(), partition(leader=2)), 1), [1, 2])
    assert [FAILURE_IMPACTS[impact] for impact in judgement.steps[0].impacts] == [Impact.UNAVAILABLE, Impact.ISR_FROZEN]
    assert [FAILURE_IMPACTS[impact] for impact in judgement.steps[1].impacts] == [Impact.SMALLER_ISR, Impact.NEW_LEADER]
    assert [step.harms for step in judgement.steps] == [True, False]
    assert judgement.harms, "one step that harms is enough"


@given(clusters(), st.lists(st.sampled_from(range(6)), unique=True, min_size=1, max_size=3), st.booleans())
def test_harm_is_what_safe_to_stop_has_against_it(known: Any, brokers: list[int], zookeeper: bool) -> None:
    """Where the controller is left: the same partitions, but for those whose harm is nothing new."""
    snapshot = replace(known.snapshot(), source="zookeeper" if zookeeper else "test")
    step = judge_failure(snapshot, brokers).steps[0]
    up = [broker for broker in brokers if snapshot.is_alive(broker) is not False]
    if not up or (zookeeper and not any(snapshot.is_alive(one) and one not in brokers for one in range(6))):
        return
    against = judge_stop(snapshot, up, Accepted()).impacts
    told = {
        (item.topic, item.partition) for item in against if item.effect in (Impact.UNAVAILABLE, Impact.UNDER_MIN_ISR)
    }
    names, numbers = (snapshot.partitions[name].to_list() for name in ("topic", "partition"))
    played = {
        (names[row], numbers[row])
        for impact in (Impact.UNAVAILABLE, Impact.UNDER_MIN_ISR, Impact.UNCLEAN_LEADER)
        for already in (False, True)
        for row in step.places(impact, already=already)
    }
    assert told <= played


def test_the_loss_of_a_broker_in_the_elr_takes_it_away_as_one_that_could_lead() -> None:
    """KIP-966: a replica of the ELR may lead cleanly; where it goes, too, only an unclean election brings a leader."""
    row = partition(replicas=[1, 2, 3], isr=[2], leader=2, min_isr=2) | {"elr": [1]}
    both, without = (with_voters(cluster(one), 3) for one in (row, row | {"elr": []}))

    def leader_after(snapshot: ClusterSnapshot, *brokers: int) -> object:
        return judge_failure(snapshot, list(brokers)).steps[-1].after.partitions["leader"].to_list()[0]

    assert leader_after(both, 2) == 1
    assert leader_after(without, 2) == -1
    assert leader_after(both, 1, 2) == leader_after(both, 2, 1) == -1


def test_a_leader_from_the_elr_is_a_clean_one() -> None:
    """KIP-966: eligible leader replicas have every committed record, as the in-sync ones do."""
    before = cluster(*[partition(isr=[1], elr=[3], leader=1)] * 3)
    after = cluster(*(partition(isr=[leader], leader=leader) for leader in (3, 2, 1)))
    assert unclean_leaders(before, after).tolist() == [False, True, False]
