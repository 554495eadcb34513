"""A plan of replicas: what is in it and what is left out, its file, its inverse."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from clusters.generated import partition, snapshot_of

from kreplica.errors import InputError
from kreplica.execution.digest import digest_of
from kreplica.execution.moves.plans.change import ReplicaChange
from kreplica.execution.moves.plans.plan import SCHEMA, PlanRequest, ReplicaPlan, plan_replicas
from kreplica.execution.moves.plans.plan_file import plan_kind, read_replica_plan, write_replica_plan
from kreplica.execution.plan import PlanKind, plan_leaders
from kreplica.execution.plan_file import read_plan, write_plan
from kreplica.execution.rebalance.plan_state import open_plan
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import REPLICAS
from kreplica.model.tables.table import Table
from kreplica.planner.reassignment.moves.order import MoveLimits

NOW = "2026-03-01T12:00:00+00:00"
LACKING = (
    "afterwards, if broker 1 failed, it would have only 1 in sync where min.insync.replicas is 2, which is not so now"
)


def cluster(*rows: dict[str, Any], dead: tuple[int, ...] = (), log_dirs: Any = (), sizes: Any = ()) -> ClusterSnapshot:
    brokers = [{"broker": broker, "alive": broker not in dead} for broker in range(1, 7)]
    found = snapshot_of(rows, brokers, log_dirs, features={"metadata.version": 29})
    copies = [{"log_dir": "/d", "future": False, **one} for one in sizes]
    return replace(found, replicas=Table.from_rows(REPLICAS, copies))


def planned(
    snapshot: ClusterSnapshot, targets: dict[int, tuple[int, ...]], **more: Any
) -> tuple[ReplicaPlan, dict[int, str]]:
    request = PlanRequest({("orders", number): target for number, target in targets.items()}, **more)
    plan, left_out = plan_replicas(snapshot, request, NOW)
    return plan, {one.partition: one.reason for one in left_out}


def test_a_plan_has_what_changes_and_its_inverse_in_the_other_order() -> None:
    copies = [{"topic": "orders", "partition": 0, "broker": broker, "size": 10 * broker} for broker in (1, 2, 3)]
    snapshot = cluster(
        partition(number=0, topic_id="A" * 21 + "g"), partition(number=1), partition(number=2), sizes=copies
    )
    targets = {0: (1, 2, 4), 1: (1, 2, 3), 2: (3, 2, 1)}
    plan, left_out = planned(snapshot, targets, directories={(("orders", 0), 4): "/new"})
    assert left_out == {}
    moved = ReplicaChange("orders", 0, (1, 2, 3), (1, 2, 4), 10, ((4, "/new"),))
    ordered = ReplicaChange("orders", 2, (1, 2, 3), (3, 2, 1))
    assert plan.changes == (moved, ordered), "partition 1 is as it shall be"
    assert (moved.adding, moved.removing, moved.total_bytes) == ((4,), (3,), 10)
    assert (ordered.adding, ordered.removing) == ((), ())
    assert plan.inverse == (
        ReplicaChange("orders", 2, (3, 2, 1), (1, 2, 3)), ReplicaChange("orders", 0, (1, 2, 4), (1, 2, 3), 10),
    )  # fmt: skip
    assert [change.inverse() for change in reversed(plan.inverse)] == [replace(moved, directories=()), ordered]
    assert (plan.schema, plan.kind) == ("kreplica/plan/v2", PlanKind.REPLICAS)
    assert plan.facts["orders", 0].topic_id == "A" * 21 + "g"


@pytest.mark.parametrize(
    ("row", "target", "dead", "reason"),
    [
        ({}, (1, 2, 9), (), "broker 9 is not alive"),
        ({}, (1, 2, 4), (4,), "broker 4 is not alive"),
        ({}, (1, 2, 4, 5), (4, 5), "brokers 4, 5 are not alive"),
        ({"isr": [1, 3]}, (1, 2, 4), (2,), "broker 2, which keeps a replica, is not alive: the move might never end"),
        ({"leader": -1, "isr": [3]}, (1, 2, 4), (3,), "no live broker leads it, so that there is nothing to copy from"),
        ({}, (1, 2, 2), (), "its new replicas are none, or name a broker twice"),
        ({}, (), (), "its new replicas are none, or name a broker twice"),
        ({"isr": [1, 2]}, (3, 2, 1), (), "broker 3 is out of sync, for which another order waits"),
        ({"adding": [3], "removing": [2]}, (1, 2, 4), (), "a reassignment is going on (adding 3, removing 2)"),
        ({}, (1, 2), (), LACKING),
        ({"min_isr": 1}, (2,), (), "afterwards, if broker 2 failed, nobody could lead it, which is not so now"),
    ],
)  # fmt: skip
def test_what_is_left_out_says_why(
    row: dict[str, Any], target: tuple[int, ...], dead: tuple[int, ...], reason: str
) -> None:
    snapshot = cluster(partition(number=0, **row), partition(number=1), dead=dead)
    plan, left_out = planned(snapshot, {0: target, 1: (1, 3, 2)} if not dead else {0: target})
    assert left_out == {0: reason}
    assert [change.partition for change in plan.changes] == ([1] if not dead else []), "the rest is planned"


def test_a_dead_replica_is_replaced_though_the_partition_is_at_min_isr() -> None:
    snapshot = cluster(partition(isr=[1, 2]), dead=(3,))
    plan, left_out = planned(snapshot, {0: (1, 2, 4)})
    assert (len(plan.changes), left_out) == (1, {})


def test_what_is_refused_while_all_is_well_is_refused_once_a_broker_has_failed() -> None:
    """With broker 3 down a further failure leaves one in sync in any case; with broker 3 back it would not."""
    snapshot = cluster(partition(isr=[1, 2]), dead=(3,))
    _, left_out = planned(snapshot, {0: (1, 2)})
    assert left_out == {0: LACKING.replace("is not so now", "is not so once all its replicas are in sync")}
    assert planned(cluster(partition(isr=[1, 2], min_isr=1), dead=(3,)), {0: (1, 2)})[1] == {}


def test_a_partition_that_is_not_there() -> None:
    _, left_out = planned(cluster(partition()), {7: (1, 2, 4)})
    assert left_out == {7: "there is no such partition"}


def test_a_disk_without_room_leaves_a_move_out() -> None:
    log_dirs = [{"broker": 4, "path": "/a", "usable_bytes": 5}, {"broker": 4, "path": "/b", "usable_bytes": 50}]
    sizes = [{"topic": "orders", "partition": 0, "broker": 1, "size": 10}]
    snapshot = cluster(partition(), log_dirs=log_dirs, sizes=sizes)
    assert planned(snapshot, {0: (1, 2, 4)})[1] == {0: "it waits for room on the disk of broker 4, which nothing frees"}
    chosen = planned(snapshot, {0: (1, 2, 4)}, directories={(("orders", 0), 4): "/b"})
    assert chosen[1] == {}


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    plan, _ = planned(cluster(partition()), {0: (1, 2, 4)}, limits=MoveLimits(None, 3, 7), certificate={"gap": 0})
    digest = write_replica_plan(plan, tmp_path / "plan.json")
    assert read_replica_plan(tmp_path / "plan.json") == (plan, digest)
    assert plan_kind(tmp_path / "plan.json") is PlanKind.REPLICAS


def test_a_reader_of_plans_of_leaders_asks_for_a_newer_kreplica(tmp_path: Path) -> None:
    plan, _ = planned(cluster(partition()), {0: (1, 2, 4)})
    write_replica_plan(plan, tmp_path / "plan.json")
    with pytest.raises(InputError, match=r"its schema is kreplica/plan/v2.*use a newer kreplica"):
        read_plan(tmp_path / "plan.json")


def test_functions_for_plans_of_leaders_say_what_it_is(tmp_path: Path) -> None:
    plan, _ = planned(cluster(partition()), {0: (1, 2, 4)})
    write_replica_plan(plan, tmp_path / "plan.json")
    with pytest.raises(InputError, match="it is a plan of replicas, not of leaders"):
        open_plan(tmp_path / "plan.json")


def test_plans_of_leaders_stay_what_they_were(tmp_path: Path) -> None:
    plan = plan_leaders(cluster(partition()), (), NOW)
    write_plan(plan, tmp_path / "plan.json")
    found = json.loads((tmp_path / "plan.json").read_text())
    assert list(found) == [
        "schema", "plan_id", "created_at", "taken_at", "cluster_id", "cluster_name", "kind", "made_from", "steps",
        "inverse", "digest",
    ]  # fmt: skip
    assert (found["schema"], found["kind"], plan_kind(tmp_path / "plan.json")) == (
        "kreplica/plan/v1", "leaders", PlanKind.LEADERS,
    )  # fmt: skip
    rewritten = {**found, "kind": "replicas"}
    del rewritten["digest"]
    (tmp_path / "other.json").write_text(json.dumps({**rewritten, "digest": digest_of(rewritten)}))
    with pytest.raises(InputError, match="a plan of replicas has another schema"):
        read_plan(tmp_path / "other.json")


WRONG = [
    (lambda document: document["inverse"].clear(), "its inverse does not undo its changes"),
    (lambda document: document["made_from"].clear(), "name other partitions"),
    (lambda document: document["changes"].append(document["changes"][0]), "a partition is changed twice"),
    (lambda document: document["changes"][0].update(to_replicas=[1, 1]), "its inverse does not undo"),
    (lambda document: _both(document, to_replicas=[4, 4, 1]), "orders-0: its new replicas are none, or name"),
    (lambda document: _both(document, to_replicas=[1, 2, 3]), "orders-0: it changes nothing"),
    (lambda document: _both(document, from_replicas=[1, 2]), "orders-0: it begins with other replicas"),
    (lambda document: document["changes"][0].update(directories=[[1, "/d"]]), "for a broker that gets no replica"),
    (lambda document: document.update(kind="leaders"), "a plan of leaders has another schema"),
    (lambda document: document.update(limits={"bytes_per_broker": None, "moves_per_broker": 0, "moves": 1}), "nothing"),
    (lambda document: document.update(further=1), "fields that this kreplica does not know"),
]


def _both(document: dict[str, Any], **fields: list[int]) -> None:
    names = {"to_replicas": "from_replicas", "from_replicas": "to_replicas"}
    document["changes"][0].update(fields)
    document["inverse"][0].update({names[name]: value for name, value in fields.items()})


@pytest.mark.parametrize(("break_it", "reason"), WRONG)
def test_a_plan_that_makes_no_sense_is_refused_though_its_digest_is_right(
    break_it: Any, reason: str, tmp_path: Path
) -> None:
    plan, _ = planned(cluster(partition()), {0: (1, 2, 4)})
    document = json.loads(msgspec.json.encode(plan))
    break_it(document)
    (tmp_path / "plan.json").write_text(json.dumps({**document, "digest": digest_of(document)}))
    with pytest.raises(InputError, match=reason):
        read_replica_plan(tmp_path / "plan.json")


def test_an_edited_plan_is_refused(tmp_path: Path) -> None:
    plan, _ = planned(cluster(partition()), {0: (1, 2, 4)})
    write_replica_plan(plan, tmp_path / "plan.json")
    text = (tmp_path / "plan.json").read_text()
    (tmp_path / "plan.json").write_text(text.replace('"moves_per_broker": 10', '"moves_per_broker": 11'))
    with pytest.raises(InputError, match="its digest does not match"):
        read_replica_plan(tmp_path / "plan.json")
    assert SCHEMA in text


def test_replicas_named_for_a_cordoned_broker_or_directory_are_left_out() -> None:
    """As another tool's file may name them; what a cordoned broker has already stays possible."""
    dirs = [
        {"broker": broker, "path": path, "total_bytes": 9, "usable_bytes": 9, "cordoned": (broker, path) in closed}
        for closed in ({(4, "/a"), (5, "/a"), (5, "/b"), (1, "/a"), (1, "/b")},)
        for broker in range(1, 7)
        for path in ("/a", "/b")
    ]
    snapshot = cluster(*(partition(number=number) for number in range(5)), log_dirs=dirs)
    targets = {0: (1, 2, 4), 1: (1, 2, 4), 2: (1, 2, 5), 3: (2, 1, 3), 4: (1, 2, 6)}
    chosen = {(("orders", 0), 4): "/a", (("orders", 1), 4): "/b", (("orders", 4), 6): "/a"}
    plan, left_out = planned(snapshot, targets, directories=chosen)
    assert left_out == {0: "log directory /a of broker 4 is cordoned", 2: "broker 5 is cordoned"}
    assert sorted(change.partition for change in plan.changes) == [1, 3, 4]


def test_a_plan_keeps_how_many_brokers_may_fail_on_top(tmp_path: Path) -> None:
    """Replication factor 3 to 2 under min.insync.replicas 1: one broker more may fail afterwards, not two."""
    snapshot = cluster(partition(min_isr=1))
    for margin, left_out in ((0, 0), (1, 0), (2, 1)):
        plan, reasons = planned(snapshot, {0: (1, 2)}, margin=margin)
        assert (plan.margin, len(reasons)) == (margin, left_out)
        file = tmp_path / f"{margin}.json"
        write_replica_plan(plan, file)
        assert read_replica_plan(file)[0].margin == margin
    document = json.loads((tmp_path / "0.json").read_text(encoding="utf-8"))
    document.pop("margin")
    document["digest"] = digest_of({key: value for key, value in document.items() if key != "digest"})
    (tmp_path / "old.json").write_text(json.dumps(document), encoding="utf-8")
    assert read_replica_plan(tmp_path / "old.json")[0].margin == 1, "files of before have none"
