"""Progress of a roll: proofs of a restart, hints at one, restarts that have to be told; the journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from clusters.generated import partition, snapshot_of

from kreplica.errors import ChangeRefusedError, InputError
from kreplica.execution.roll.journal import RollEntry, RollEvent, open_roll_journal
from kreplica.execution.roll.plan import RollOptions, RollPlan, plan_roll
from kreplica.execution.roll.progress import MOST_LED, NodeState, check_roll, led_by, look_at_roll
from kreplica.model.snapshot import ClusterSnapshot

NOW = "2026-03-01T12:00:00+00:00"


def cluster(*rows: dict[str, Any], down: tuple[int, ...] = (), **facts: Any) -> ClusterSnapshot:
    numbered = [{"leader_epoch": 5, **row, "partition": number} for number, row in enumerate(rows)]
    brokers = [{"broker": one, "alive": one not in down} for one in (1, 2, 3)]
    return snapshot_of(numbered, brokers, **{"source": "zookeeper", **facts})


BEFORE = cluster(partition(), partition(leader=2))


@pytest.fixture
def plan() -> RollPlan:
    found = plan_roll(BEFORE, [1, 2, 3], RollOptions(), NOW).plan
    assert found.waves == ((1,), (2,), (3,))
    return found


def named(wave: int, snapshot: ClusterSnapshot, *nodes: int) -> RollEntry:
    return RollEntry("digest", NOW, RollEvent.NAMED, wave, nodes, tuple(led_by(snapshot, nodes)))


def state_of(plan: RollPlan, entries: list[RollEntry], now: ClusterSnapshot, **more: Any) -> NodeState:
    found = look_at_roll(plan, entries, now, **more)
    assert found.wave is not None
    (state,) = found.states.values()
    return state


def test_the_first_wave(plan: RollPlan) -> None:
    found = look_at_roll(plan, [], BEFORE)
    assert (found.wave, found.states, found.may_begin, found.over) == (1, {1: NodeState.RESTART}, True, False)
    assert found.drift == ()


def test_who_leads_in_the_same_epoch_was_not_restarted(plan: RollPlan) -> None:
    entries = [named(1, BEFORE, 1)]
    assert state_of(plan, entries, BEFORE) is NodeState.RESTART
    assert state_of(plan, entries, BEFORE, reported=True) is NodeState.RESTART, "whoever says otherwise is wrong"
    again = cluster(partition(leader_epoch=7), partition(leader=2))
    assert state_of(plan, entries, again) is NodeState.BACK, "it leads again, in a higher epoch"


def test_a_restart_step_by_step(plan: RollPlan) -> None:
    entries = [named(1, BEFORE, 1)]
    gone = cluster(partition(leader=2, leader_epoch=6, isr=[2, 3]), partition(leader=2, isr=[2, 3]), down=(1,))
    assert state_of(plan, entries, gone) is NodeState.DOWN
    back = cluster(partition(leader=2, leader_epoch=6, isr=[2, 3]), partition(leader=2, isr=[2, 3, 1]))
    found = look_at_roll(plan, entries, back)
    assert found.states == {1: NodeState.CATCHING_UP}
    assert found.out_of_sync == (("orders", 0),)
    assert not found.may_begin
    well = cluster(partition(leader=2, leader_epoch=6, isr=[2, 3, 1]), partition(leader=2))
    assert look_at_roll(plan, entries, well).over


def test_who_led_nothing_has_to_be_told(plan: RollPlan) -> None:
    entries = [RollEntry("digest", NOW, RollEvent.DONE, wave, (wave,)) for wave in (1, 2)] + [named(3, BEFORE, 3)]
    assert state_of(plan, entries, BEFORE) is NodeState.NOT_TOLD
    assert state_of(plan, entries, BEFORE, reported=True) is NodeState.BACK
    seen = RollEntry("digest", NOW, RollEvent.DOWN, 3, (3,))
    assert state_of(plan, [*entries, seen], BEFORE) is NodeState.BACK


def test_after_the_last_wave(plan: RollPlan) -> None:
    entries = [RollEntry("digest", NOW, RollEvent.DONE, wave, (wave,)) for wave in (1, 2, 3)]
    assert look_at_roll(plan, entries, BEFORE).wave is None


def test_another_cluster(plan: RollPlan) -> None:
    check_roll(plan, BEFORE)
    with pytest.raises(ChangeRefusedError, match="the plan is of another cluster"):
        check_roll(plan, cluster(cluster_id="other"))


def test_drift_is_named(plan: RollPlan) -> None:
    brokers = [{"broker": one, "alive": True} for one in (1, 2, 3, 9)]
    now = snapshot_of([partition()], brokers, source="zookeeper", controller=1)
    assert look_at_roll(plan, [], now).drift == (
        "not in the plan: node 9",
        "the cluster had 2 partitions and has 1",
        "the active controller is 1 now, which does not restart last",
    )


def test_signs_are_first_of_all_what_a_node_is_preferred_for() -> None:
    rows = [partition(leader=1, replicas=[2, 1, 3]) for _ in range(MOST_LED)] + [partition(leader=1)]
    signs = led_by(cluster(*rows), [1, 2])
    assert len(signs) == MOST_LED
    assert signs[0] == ("orders", MOST_LED, 1, 5)
    assert led_by(cluster(partition(leader_epoch=None)), [1]) == []


def test_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "roll.json"
    with open_roll_journal(path, "sha256:1") as journal:
        journal.note(RollEvent.NAMED, 1, [1], [("orders", 0, 1, 5)])
        with pytest.raises(ChangeRefusedError, match="somebody else"), open_roll_journal(path, "sha256:1"):
            pass
    lines = tmp_path / "roll.json.journal"
    lines.write_bytes(lines.read_bytes() + b'{"plan": "sha2')
    with open_roll_journal(path, "sha256:1") as journal:
        assert [(entry.event, entry.wave, entry.led) for entry in journal.entries] == [
            (RollEvent.NAMED, 1, (("orders", 0, 1, 5),))
        ]
        journal.note(RollEvent.DONE, 1, [1], reported=True)
    assert lines.read_bytes().count(b"\n") == 2
    with pytest.raises(InputError, match="line 1; it belongs to another plan"), open_roll_journal(path, "sha256:2"):
        pass
    lines.write_text("no json\n")
    with pytest.raises(InputError, match="not a line of a roll's journal"), open_roll_journal(path, "sha256:1"):
        pass
