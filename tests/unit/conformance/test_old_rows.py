"""The engine's predictions of the rows of old releases, against what the issues of Kafka say of both sides."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance.old.__main__ import BEGIN, END, told_by, write
from conformance.old.playing import foretold
from conformance.old.rows import OLD_ROWS, OldRow
from conformance.reading import NOT_READABLE, Disk, Reading, Told

from kreplica.sandbox import RELEASES

ROWS = {old.row.name: old for old in OLD_ROWS}
SERVERS = {
    "auto.leader.rebalance.enable": "false",
    "replica.lag.time.max.ms": "10000",
    "zookeeper.session.timeout.ms": "6000",
}


def readings(name: str, release: str) -> list[Reading]:
    return list(foretold(ROWS[name], release, SERVERS | dict(ROWS[name].servers)))


def values(reading: Reading, broker: int) -> str:
    disk = reading.disks[broker]
    assert isinstance(disk, Disk)
    return "".join(value for _, _, value in disk.records)


def told(reading: Reading, broker: int) -> Told:
    found = reading.told[broker]
    assert isinstance(found, Told)
    return found


@pytest.mark.parametrize("old", OLD_ROWS, ids=list(ROWS))
def test_the_sandbox_has_the_releases_on_both_sides(old: OldRow) -> None:
    assert set(old.releases) <= RELEASES.keys()
    assert len(old.releases) > 1


@pytest.mark.parametrize(("release", "times"), [("0.10.2.2", 0), ("2.0.0", 0), ("2.0.1", 0), ("2.1.1", 1)])
def test_since_2_1_a_follower_begins_anew_in_each_epoch(release: str, times: int) -> None:
    after = readings("same-leader-next-epoch", release)[2]
    assert told(after, 3).isr == (2, 3)
    assert after.client == (f"broker 3 began to follow {times} times",)


@pytest.mark.parametrize(("release", "log"), [("2.0.0", "abc"), ("2.0.1", "abx")])
def test_until_2_0_0_logs_differ_after_a_missed_epoch(release: str, log: str) -> None:
    last = readings("missed-epoch", release)[-1]
    assert [values(last, broker) for broker in (2, 3, 4)] == ["abx", log, "abx"]
    assert told(last, 3) == Told(2, -1, (2, 3, 4), None), "it is in sync all the same"


@pytest.mark.parametrize(("release", "flushed"), [("0.10.2.2", 0), ("0.11.0.3", 3), ("2.0.0", 3)])
def test_until_0_10_a_broker_that_ends_itself_flushes_nothing(release: str, flushed: int) -> None:
    """KAFKA-4039: it never comes to LogManager.shutdown."""
    disk = readings("leader-lost-its-log", release)[-1].disks[3]
    assert isinstance(disk, Disk)
    assert (disk.recovery_point, len(disk.records)) == (flushed, 3)


@pytest.mark.parametrize("release", ["0.10.2.2", "0.11.0.3", "1.1.1", "2.0.0"])
def test_until_2_0_0_a_broker_ends_rather_than_truncate(release: str) -> None:
    last = readings("leader-lost-its-log", release)[-1]
    assert last.told[3] == NOT_READABLE
    assert values(last, 3) == "abc"


@pytest.mark.parametrize("release", ["2.0.1", "2.8.2", "3.3.2"])
def test_since_2_0_1_it_truncates(release: str) -> None:
    last = readings("leader-lost-its-log", release)[-1]
    assert told(last, 2).isr == (2, 3)
    assert [values(last, broker) for broker in (2, 3)] == ["", ""]


def test_2_8_0_loses_a_record_of_acks_all() -> None:
    *_, acknowledged, last = readings("diverging-position", "2.8.0")
    assert acknowledged.client == ("y at 3",)
    assert told(last, 3).leader == 3
    assert values(last, 3) == "abcd", "y is not there"


def test_2_8_1_does_not_take_it() -> None:
    *_, refused, last = readings("diverging-position", "2.8.1")
    assert refused.client == ("y: NOT_ENOUGH_REPLICAS",)
    assert told(last, 3).leader == -1


def test_until_4_2_a_new_disk_takes_eligibility_away_and_leads() -> None:
    *_, alone, all_back, read = readings("new-disk-beside-eligible", "4.2.0")
    assert told(alone, 1) == Told(-1, 1, (), ()), "the directory is known after it was unfenced, and nobody is elected"
    assert told(all_back, 1).leader == 1
    assert [values(all_back, broker) for broker in (1, 2, 3)] == ["", "", ""]
    assert read.client == (), "three records of acks=all are lost"


def test_since_4_3_it_waits_for_one_that_is_eligible() -> None:
    *_, alone, all_back, read = readings("new-disk-beside-eligible", "4.3.1")
    assert told(alone, 1) == Told(-1, 1, (), (2,))
    assert told(all_back, 1).leader == 2
    assert read.client == ("a at 0", "b at 1", "c at 2")


def test_the_page_keeps_what_was_not_played_again(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}{END}after\n")
    write(page, {("missed-epoch", "2.0.0"): "equal"})
    write(page, {("missed-epoch", "2.0.1"): "different"})
    told = told_by(page.read_text())
    assert (told["missed-epoch", "2.0.0"], told["missed-epoch", "2.0.1"]) == ("equal", "different")
    assert set(told.values()) == {"equal", "different", "not played"}
    assert page.read_text().startswith("before\n")
    assert page.read_text().endswith("after\n")
