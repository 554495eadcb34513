"""kreplica decode offsets --groups, against what kafka-consumer-groups printed of the same cluster at that time."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
from log_files.kafka_dumps import GOLDEN
from log_files.record_batches import PlainRecord, batch_bytes

HOME = GOLDEN / "kafka-4.3.1"
NODE = HOME / "clean" / "broker-1"
NEXT_GEN = NODE / "data2" / "__consumer_offsets-20"
WHEN = {"1-healthy": "2026-11-21T07:02:50", "5-elected": "2026-11-21T07:07:30"}
"""A time at which the groups were as the files in the folder tell."""


def listed_states(path: Path) -> dict[str, tuple[str, int]]:
    """State and number of members by group."""
    found = re.findall(r"^(\S+) +[\d.:]+ +\(\d\) +(?:.* )?(Empty|Stable|Assigning) +(\d+)$", path.read_text(), re.M)
    return {group: (state, int(members)) for group, state, members in found}


def listed_members(path: Path) -> dict[str, tuple[str, ...]]:
    """Group, instance, host, client, epoch and assignment by member, the last sorted; - for what is not there."""
    found: dict[str, tuple[str, ...]] = {}
    for block in path.read_text().split("\n\n"):
        lines = block.strip().splitlines()
        if not lines or not lines[0].startswith("GROUP "):
            continue
        for line in lines[1:]:
            words = line.split()
            if "GROUP-INSTANCE-ID" not in lines[0] or words[2].startswith("/"):
                words.insert(2, "-")
            group, member, instance, host, client, _, epoch, assigned = words[:8]
            found[member] = (group, instance, host, client, epoch, ";".join(sorted(assigned.split(";"))))
    return found


def topic_names() -> dict[str, str]:
    text = (HOME / "1-healthy" / "topics-describe.txt").read_text()
    return {topic_id: name for name, topic_id in re.findall(r"^Topic: (\S+)\s+TopicId: (\S+)", text, re.M)}


def spelled(group: str, member: dict[str, Any]) -> tuple[str, ...]:
    """A member as ``listed_members`` has it."""
    names = topic_names()
    places = [
        f"{each.get('topic') or names[each['topic_id']]}:{','.join(map(str, each['partitions']))}"
        for each in member["assignment"]
    ]
    epoch = "-" if member["epoch"] is None else str(member["epoch"])
    instance = member["instance_id"] or "-"
    return group, instance, member["client_host"], member["client_id"], epoch, ";".join(sorted(places))


def test_streams_groups_are_as_kafka_described_them(kreplica: Any) -> None:
    home = GOLDEN / "streams-groups"
    told = re.findall(r"^(\S+) +[\d.:]+ \(1\) +(\w+) +(\d+) +\d+ +(\d+)", (home / "state.txt").read_text(), re.M)
    (member,) = re.findall(
        r"^(\S+) +\d+ +0 +(\S+) +streams +(\d+) +\S+ +(\S+) ", (home / "members.txt").read_text(), re.M
    )
    words = ("decode", "offsets", home, "--partitions", "1", "--groups", "--group", "rich|streams-app")
    rows = kreplica(*words, "-o", "json").document["groups"]
    found = [(row["group"], row["state"], str(row["epoch"]), str(len(row["members"]))) for row in rows]
    assert found == told == [("rich", "Stable", "3", "1"), ("streams-app", "Empty", "4", "0")]
    (mine,) = rows[0]["members"]
    assert ("rich", mine["member_id"], str(mine["epoch"]), mine["client_id"]) == member
    assert mine["subscription"] == ["t1"]
    assert mine["assignment"] == [
        {"subtopology_id": name, "tasks": "active", "partitions": [0, 1, 2]} for name in ("sub-0", "sub-1")
    ]
    shown = kreplica(*words).out
    assert f"rich: {mine['member_id']} (st of /127.0.0.1) has active sub-0:0,1,2;active sub-1:0,1,2\n" in shown


@pytest.mark.parametrize(
    ("offset", "state"), [(5, "NotReady"), (6, "Assigning"), (8, "Reconciling"), (9, "Stable"), (21, "Empty")]
)
def test_a_streams_group_while_it_came_together(kreplica: Any, offset: int, state: str) -> None:
    """The group metadata says at offset 5 that the topology's topics were found, the target is at 6, 7; the member
    has it at 8 (StreamsGroup.maybeUpdateGroupState)."""
    home = GOLDEN / "streams-groups" / "__consumer_offsets-0"
    words = ("--groups", "--group", "streams-app", "--as-of-offset", str(offset), "-o", "json")
    (row,) = kreplica("decode", "offsets", home, *words).document["groups"]
    assert row["state"] == state


def test_topics_have_the_names_that_directories_beside_the_log_tell(kreplica: Any, tmp_path: Path) -> None:
    shutil.copytree(NEXT_GEN, tmp_path / NEXT_GEN.name)
    words = ("decode", "offsets", tmp_path, "--group", "next-gen", "--groups", "--as-of-time", WHEN["1-healthy"])
    before = kreplica(*words).out
    (member, *_) = kreplica(*words, "-o", "json").document["groups"][0]["members"]
    (topic_id, *_) = [each["topic_id"] for each in member["assignment"]]
    for name, beside in (
        ("orders-3", topic_id),
        ("other-0", "A" * 22),
        ("orders-4.0123456789abcdef0123456789abcdef-delete", "x"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "partition.metadata").write_text(f"version: 0\ntopic_id: {beside}\n")
    assert f" has {topic_id}:" in before
    after = kreplica(*words).out
    assert topic_id not in after
    assert sorted(after) == sorted(before.replace(topic_id, "orders"))
    (named, *_) = kreplica(*words, "-o", "json").document["groups"][0]["members"]
    assert named["assignment"][0] == {**member["assignment"][0], "topic": "orders"}


@pytest.mark.parametrize("state", WHEN)
def test_groups_are_as_kafka_described_them(kreplica: Any, state: str) -> None:
    ended = kreplica("decode", "offsets", NODE, "--groups", "--as-of-time", WHEN[state], "-o", "json")
    document = ended.document
    assert (ended.code, document["schema"]) == (5, "kreplica/decode-offsets-groups/v1")
    assert list(document) == ["schema", "clusters", "groups", "summary", "warnings"]
    rows = {row["group"]: row for row in document["groups"] if row["type"] != "share"}
    told = listed_states(HOME / state / "groups-state.txt")
    assert len(told) >= 8
    assert {group: (row["state"], len(row["members"])) for group, row in rows.items()} == told
    members = {member["member_id"]: spelled(group, member) for group, row in rows.items() for member in row["members"]}
    assert members == listed_members(HOME / state / "groups-members.txt")
    assert {group for group, row in rows.items() if row["type"] == "consumer"} == {"next-gen"}
    assert document["summary"]["members"] == len(members)


def test_a_share_group_and_its_member(kreplica: Any) -> None:
    """It was Empty when Kafka listed it; before, it had the one member that its records tell of."""
    asked = ("decode", "offsets", NODE, "--groups", "--group", "share-workers", "-o", "json")
    (row,) = kreplica(*asked, "--as-of-time", WHEN["1-healthy"]).document["groups"]
    told = listed_states(HOME / "1-healthy" / "share-groups-state.txt")
    assert {row["group"]: (row["state"], len(row["members"]))} == told
    (before,) = kreplica(*asked, "--as-of-time", "2026-11-21T07:02:12").document["groups"]
    assert (before["type"], before["state"], len(before["members"])) == ("share", "Stable", 1)


def test_members_are_reconciling_until_all_have_their_target(kreplica: Any) -> None:
    """Offsets of the records in Kafka's dump: 6 raises the group's epoch, 17 the target's, 18 to 21 the members'."""
    states = {}
    for offset in (0, 5, 8, 18, 21, 22):
        asked = ("decode", "offsets", NEXT_GEN, "--groups", "--as-of-offset", offset, "-o", "json")
        states[offset] = [(row["state"], row["epoch"]) for row in kreplica(*asked).document["groups"]]
    assert states == {
        0: [],
        5: [("Stable", 2)],
        8: [("Assigning", 3)],
        18: [("Reconciling", 3)],
        21: [("Reconciling", 3)],
        22: [("Stable", 3)],
    }


def test_the_screen_has_a_line_for_each_member(kreplica: Any) -> None:
    shown = kreplica("decode", "offsets", NODE, "--groups", "--group", "billing", "--as-of-time", WHEN["1-healthy"])
    lines = shown.out.splitlines()
    assert lines[0].split() == ["GROUP", "TYPE", "STATE", "EPOCH", "PROTOCOL", "MEMBERS", "OFFSETS"]
    assert lines[1].split() == ["billing", "classic", "Stable", "1", "range", "2", "6"]
    assert lines[2].startswith("OK 1 group, 2 members; found where these groups live: partition 9 of 50")
    assert lines[4].endswith(", instance static-a) has orders:3,4,5")
    assert shown.code == 0


def test_every_form_has_the_same_rows(kreplica: Any) -> None:
    asked = ("decode", "offsets", NODE, "--groups", "-o")
    rows = kreplica(*asked, "json").document["groups"]
    assert [json.loads(line) for line in kreplica(*asked, "jsonl").out.splitlines()] == rows
    flat = list(csv.DictReader(io.StringIO(kreplica(*asked, "csv").out)))
    assert [row["group"] for row in flat] == [row["group"] for row in rows]
    assert [row["offsets"] for row in flat] == [str(row["offsets"]) for row in rows]


def test_a_damaged_record_of_a_group_is_told(kreplica: Any, tmp_path: Path) -> None:
    home = tmp_path / "__consumer_offsets-20"
    shutil.copytree(NEXT_GEN, home)
    segment = home / f"{0:020}.log"
    rest = batch_bytes([PlainRecord(0, 0, b"\0\3\0\4torn", b"\0\0\0")], base_offset=1000)
    segment.write_bytes(segment.read_bytes() + rest)
    ended = kreplica("decode", "offsets", home, "--groups", "-o", "json")
    assert ended.code == 1
    assert [row["group"] for row in ended.document["groups"]] == ["next-gen"]
    (damage,) = ended.document["summary"]["damage"]
    assert damage["reason"].startswith("record at offset 1000 is not of its type: ")


@pytest.mark.parametrize("words", [["--events"], ["--topic", "orders"], ["-o", "kafka-2"], ["-o", "reset-csv"]])
def test_what_tells_of_offsets_has_no_groups(kreplica: Any, words: list[str]) -> None:
    ended = kreplica("decode", "offsets", NODE, "--groups", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == ("error: --groups tells of groups, not of their offsets; leave out the others, but --group\n")
