"""Causes as describe shows them: the verdict, groups by cause, what to type next, --measure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from clusters.generated import snapshot_of
from planted.faults import FAULTS, Planted

from kreplica.store.writing import write_snapshot


@pytest.fixture
def dump(tmp_path: Path) -> Any:
    """Writes a cluster with faults planted and returns its path."""

    def write(*faults: str, name: str = "dumps") -> Path:
        planted = Planted(seed=7)
        for fault in faults:
            FAULTS[fault](planted)
        write_snapshot(planted.snapshot(), tmp_path / name)
        return tmp_path / name

    return write


CAUSE_LINES = {
    "broker_fenced": "broker 3 (rack c) gone (fenced by the controller)  explains",
    "rack_fenced": "rack b gone: brokers 2, 5, 8  explains",
    "directory_offline": "broker 4 (rack a) has a log directory offline: /data/2  explains",
    "slow_leader": "leader 5 (rack b) slow: followers 1, 2, 3, 4, 6 and 3 more out  explains",
    "slow_follower": "follower 6 (rack c) slow: behind leaders 1, 2, 3, 4, 5 and 3 more  explains",
    "slow_broker": "broker 5 (rack b) slow, as leader and as follower: with brokers 1, 2, 3, 4, 6 and 3 more  explains",
    "one_pair": "from leader 7 to follower 8: both keep up with all others  explains",
    "restarted": "broker 2 (rack b) alive, but in no ISR and leading nothing:"
    " it starts, stops, is cut off or stands still  explains",
    "throttle_followers": "throttle left behind: 1000 bytes/s on topic topic-04, brokers 9 out  explains",
}


@pytest.mark.parametrize(("fault", "line"), CAUSE_LINES.items())
def test_the_one_cause_is_one_line(kreplica: Any, dump: Any, fault: str, line: str) -> None:
    out = kreplica("describe", "--dump", dump(fault)).out
    (shown,) = [one for one in out.splitlines() if one.startswith("cause ")]
    assert shown.startswith(f"cause    {line} ")
    assert "not known" not in out


def test_the_worst_cause_comes_first_and_the_next_command_is_about_it(kreplica: Any, dump: Any) -> None:
    path = dump("slow_leader")
    out = kreplica("describe", "--dump", path).out
    assert f"next     kreplica safe-to-stop --dump {path} 5\n" in out
    assert kreplica("safe-to-stop", "--dump", path, "5").code in (0, 1, 5)


def test_groups_by_cause_and_the_summary_are_the_same_causes(kreplica: Any, dump: Any) -> None:
    path = dump("gone_and_slow")
    document = kreplica("describe", "--dump", path, "--under-replicated", "--group-by", "cause", "-o", "json").document
    groups, causes = document["groups"], document["summary"]["causes"]
    # broker 3 explains more partitions, and leader 5 those in which both followers are out, so that writes fail
    assert [group["cause"] for group in groups] == ["slow-leader", "broker-fenced"]
    assert groups[0]["partitions"] < groups[1]["partitions"]
    assert groups[0]["failing"] > groups[1]["failing"]
    assert [(one["kind"], one["broker"], one["partitions"]) for one in causes] == [
        (group["cause"], group["broker"], group["partitions"]) for group in groups
    ]
    assert [group["certain"] for group in groups] == [True, True]
    assert document["summary"]["causes_open"] == []
    assert document["summary"]["causes_smallest"] is True
    table = kreplica("describe", "--dump", path, "--under-replicated", "--group-by", "cause").out
    assert table.splitlines()[0].lower().split() == [*groups[0]]


def test_what_others_do_is_evidence_even_where_they_are_not_looked_at(kreplica: Any, dump: Any) -> None:
    path = dump("slow_follower")
    document = kreplica("describe", "--dump", path, "--topic", "topic-04", "--under-replicated", "-o", "json").document
    kinds = {cause["kind"] for row in document["partitions"] for cause in row["causes"]}
    assert kinds == {"slow-follower"}
    assert all(row["not_known"] == [] for row in document["partitions"])
    assert document["summary"]["causes"][0]["partitions"] == len(document["partitions"])


def test_what_is_open_is_told_with_its_choices(kreplica: Any, dump: Any) -> None:
    path = dump("hot_partitions")
    listing = kreplica("describe", "--dump", path, "--under-replicated")
    assert "not known" in listing.out
    assert "; the cause not known for 2: read the server.log of brokers" in listing.out
    document = kreplica("describe", "--dump", path, "--under-replicated", "-o", "json").document
    assert all(row["causes"] == [] and len(row["not_known"]) == 2 for row in document["partitions"])
    assert sum(one["partitions"] for one in document["summary"]["causes_open"]) == 2
    groups = kreplica("describe", "--dump", path, "--under-replicated", "--group-by", "cause", "-o", "json").document
    assert {group["cause"] for group in groups["groups"]} == {"not-known"}


def test_a_dump_cannot_be_measured(kreplica: Any, dump: Any) -> None:
    ended = kreplica("describe", "--dump", dump("slow_leader"), "--measure", "10s")
    assert (ended.code, ended.out) == (2, "")
    assert "cannot be measured; --measure asks the brokers twice" in ended.err
    assert "--measure" not in kreplica("describe", "--dump", "sample").out


@pytest.mark.parametrize("text", ["soon", "-3s", "0s", "1y", ""])
def test_a_time_that_is_none_is_refused(kreplica: Any, text: str) -> None:
    ended = kreplica("describe", "--dump", "sample", "--measure", text)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: --measure")


def test_a_cluster_without_partitions_has_no_causes(kreplica: Any, tmp_path: Path) -> None:
    write_snapshot(snapshot_of([], [{"broker": 1, "alive": True}]), tmp_path / "empty")
    document = kreplica("describe", "--dump", tmp_path / "empty", "--all", "--group-by", "cause", "-o", "json").document
    assert document["groups"] == []
    assert document["summary"]["causes"] == []
