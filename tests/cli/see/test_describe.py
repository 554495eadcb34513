"""kreplica describe: Kafka's own listings, the verdict, groups, several clusters."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from clusters.generated import hidden, partition, snapshot_of

from kreplica.model.snapshot import ClusterSnapshot
from kreplica.store.writing import write_snapshot

GOLDEN = Path(__file__).parents[2] / "golden"
STATES = sorted(path.parent for path in GOLDEN.glob("kafka-*/*/topics-describe.txt"))
KILLED = GOLDEN / "kafka-4.3.1" / "2-broker-killed"
HEALTHY = GOLDEN / "kafka-4.3.1" / "1-healthy"
FILTERS = {
    "--under-replicated": "topics-under-replicated-partitions.txt",
    "--under-min-isr": "topics-under-min-isr-partitions.txt",
    "--at-min-isr": "topics-at-min-isr-partitions.txt",
    "--unavailable": "topics-unavailable-partitions.txt",
}
LINE = re.compile(r"\tTopic: (\S+)\tPartition: (\d+)\tLeader: (\S+)\tReplicas: (\S*)\tIsr: (\S*)")


def kafka_s_listing(path: Path) -> dict[tuple[str, int], tuple[int | None, list[int], list[int]]]:
    """Leader, replicas and ISR by place, as Kafka's own tool printed them."""
    text = path.read_text().partition("[stderr]")[0]
    return {
        (topic, int(number)): (
            None if leader == "none" else int(leader),
            [int(word) for word in replicas.split(",") if word],
            [int(word) for word in isr.split(",") if word],
        )
        for topic, number, leader, replicas, isr in LINE.findall(text)
    }


def listed(document: dict[str, Any]) -> dict[tuple[str, int], tuple[int | None, list[int], list[int]]]:
    rows = document["partitions"]
    assert len({(row["topic"], row["partition"]) for row in rows}) == len(rows)
    return {(row["topic"], row["partition"]): (row["leader"], row["replicas"], row["isr"]) for row in rows}


def test_every_state_is_there() -> None:
    assert Counter(state.parent.name for state in STATES) == {
        "kafka-3.9.2": 6,
        "kafka-3.9.2-ibp-0.10.0": 3,
        "kafka-3.9.2-ibp-1.1": 3,
        "kafka-4.3.1": 6,
    }


@pytest.mark.parametrize("flag", FILTERS)
@pytest.mark.parametrize("state", STATES, ids=lambda state: f"{state.parent.name}-{state.name}")
def test_filters_list_what_kafka_s_own_tool_lists(kreplica: Any, state: Path, flag: str) -> None:
    expected = kafka_s_listing(state / FILTERS[flag])
    ended = kreplica("describe", "--dump", state / "topics-describe.txt", flag, "-o", "json")
    assert listed(ended.document) == expected
    assert ended.code == (1 if expected else 0)


@pytest.mark.parametrize("flag", FILTERS)
def test_the_packaged_sample_gives_kafka_s_listings(kreplica: Any, flag: str) -> None:
    expected = kafka_s_listing(KILLED / FILTERS[flag])
    assert expected
    assert listed(kreplica("describe", "--dump", "sample", flag, "-o", "json").document) == expected


def test_all_lists_every_partition_that_kafka_s_tool_describes(kreplica: Any) -> None:
    ended = kreplica("describe", "--dump", KILLED / "topics-describe.txt", "--all", "-o", "json")
    assert listed(ended.document) == kafka_s_listing(KILLED / "topics-describe.txt")
    assert ended.code == 0


def test_two_filters_list_what_either_matches(kreplica: Any) -> None:
    ended = kreplica("describe", "--dump", "sample", "--unavailable", "--at-min-isr", "-o", "json")
    either = kafka_s_listing(KILLED / FILTERS["--unavailable"]) | kafka_s_listing(KILLED / FILTERS["--at-min-isr"])
    assert listed(ended.document) == either
    assert ended.document["summary"]["filters"] == ["at_min_isr", "unavailable"]


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("--offline", {("single-copy", 0), ("single-copy", 2)}),
        ("--masked", set()),
        ("--reassigning", set()),
    ],
)
def test_other_filters_on_the_sample(kreplica: Any, flag: str, expected: set[tuple[str, int]]) -> None:
    ended = kreplica("describe", "--dump", "sample", flag, "-o", "json")
    assert set(listed(ended.document)) == expected
    assert ended.code == (1 if expected else 0)


def test_non_preferred_is_led_by_another_than_the_first(kreplica: Any) -> None:
    every = kafka_s_listing(KILLED / "topics-describe.txt")
    expected = {place for place, (leader, replicas, _) in every.items() if leader != replicas[0]}
    assert set(listed(kreplica("describe", "--dump", "sample", "--non-preferred", "-o", "json").document)) == expected


def test_reassigning_are_those_of_kafka_s_list(kreplica: Any) -> None:
    state = GOLDEN / "kafka-4.3.1" / "4-reassigning"
    moving = {
        (topic, int(n)) for topic, n in re.findall(r"^(\S+)-(\d+): ", (state / "reassignments.txt").read_text(), re.M)
    }
    assert moving
    ended = kreplica("describe", "--dump", state / "topics-describe.txt", "--reassigning", "-o", "json")
    assert set(listed(ended.document)) == moving


# the screen


def test_verdict_of_a_cluster_in_trouble(kreplica: Any) -> None:
    ended = kreplica("describe", "--dump", "sample")
    assert (ended.code, ended.err) == (1, "")
    assert kreplica("describe", "--dump", "sample", "--exit-zero").code == 0
    assert ended.ageless == (
        "UNHEALTHY 2 of 145 partitions without a leader (no reads, no writes), 141 under-replicated,"
        " 3 under min ISR (acks=all writes fail)\n"
        "cluster  sample (i0iQ6TlnRRmrapXchcJ1Uw), 145 partitions of 19 topics on 3 brokers, kafka"
        " at 2026-11-21 07:05:54 UTC\n"
        "cause    broker 3 (rack r3) gone (fenced by the controller), last heard of 07:03:54 UTC"
        "  explains 141 (5 with failing writes)\n"
        "counts       141  under-replicated\n"
        "               6  under min ISR (3 refusing acks=all writes, 2 without a leader,"
        " 1 with fewer replicas than min.insync.replicas (writes fail only before Kafka 3.7))\n"
        "             139  at min ISR\n"
        "               2  unavailable\n"
        "               2  offline (no leader)\n"
        "              51  not led by the preferred leader\n"
        "worst    topics __consumer_offsets 50 of 50, __transaction_state 50 of 50, __share_group_state 10 of 10,"
        " orders 6 of 6, clicks 4 of 4, and 13 more\n"
        "         brokers 3 out of sync in 141\n"
        "next     kreplica describe --dump sample --offline\n"
        "         kreplica describe --dump sample --under-replicated --group-by broker\n"
        "         kreplica check --dump sample\n"
    )


def test_verdict_of_a_healthy_cluster(kreplica: Any) -> None:
    ended = kreplica("describe", "--dump", HEALTHY / "topics-describe.txt")
    assert ended.code == 0
    count = len(kafka_s_listing(HEALTHY / "topics-describe.txt"))
    assert ended.out.startswith(f"HEALTHY all {count} partitions have their leader and every replica in sync\n")
    assert "\ncause" not in ended.out


def test_a_text_dump_tells_what_its_partitions_have_in_common(kreplica: Any) -> None:
    ended = kreplica("describe", "--dump", KILLED / "topics-describe.txt")
    assert (
        "cause    broker 3 in no ISR and leads nothing, so most likely gone  explains 141 (5 with failing writes)\n"
        in ended.out
    )


@pytest.mark.parametrize("words", [[], ["--topic", "orders,single.*", "--exclude-internal"], ["--broker", "3"]])
def test_next_commands_work_as_they_stand(kreplica: Any, words: list[str]) -> None:
    shown = kreplica("describe", "--dump", "sample", *words).out
    commands = re.findall(r"^(?:next)? +(kreplica .*)$", shown, re.M)
    assert len(commands) >= 3
    for command in commands:
        ended = kreplica(*command.split()[1:])
        assert ended.code in (0, 1), command
        assert ended.out
        assert ended.err == ""


def test_a_listing_shows_what_says_something_and_ends_with_its_number(kreplica: Any) -> None:
    ended = kreplica("describe", "--dump", "sample", "--under-replicated", "--topic", "single-copy|two-copies")
    gone = "broker 3 gone (fenced by the controller)"
    assert ended.ageless.splitlines() == [
        "TOPIC        PARTITION  LEADER  REPLICAS  ISR  ELR  MIN_ISR  MISSING  CAUSES",
        f"single-copy  0          -       3         -    3    2        3        {gone}",
        f"single-copy  2          -       3         -    3    2        3        {gone}",
        f"two-copies   0          1       3,1       1    3    2        3        {gone}",
        "3 of 5 partitions under-replicated",
    ]


def test_no_finding_is_said(kreplica: Any) -> None:
    ended = kreplica("describe", "--dump", HEALTHY / "topics-describe.txt", "--under-replicated", "--offline")
    topics = {topic for topic, _ in kafka_s_listing(HEALTHY / "topics-describe.txt")}
    assert (ended.code, ended.ageless) == (0, f"no findings among {len(topics)} topics\n")


GROUPS = {
    "broker": [
        "BROKER  RACK  ALIVE  MISSING  LEADING  PARTITIONS",
        "3       r3    no     3        0        3",
        "1       r1    yes    0        1        1",
    ],
    "rack": [
        "RACK  MISSING  LEADING  PARTITIONS",
        "r3    3        0        3",
        "r1    0        1        1",
    ],
    "topic": [
        "TOPIC        PARTITIONS  OF",
        "single-copy  2           3",
        "two-copies   1           2",
    ],
}


@pytest.mark.parametrize(("by", "expected"), GROUPS.items())
def test_groups(kreplica: Any, by: str, expected: list[str]) -> None:
    question = ["--under-replicated", "--topic", "single-copy,two-copies"]
    ended = kreplica("describe", "--dump", "sample", *question, "--group-by", by)
    assert ended.ageless.splitlines() == [*expected, "3 of 5 partitions under-replicated"]
    assert ended.code == 1
    document = kreplica("describe", "--dump", "sample", *question, "--group-by", by, "-o", "json").document
    assert "partitions" not in document
    assert [str(row[by]) for row in document["groups"]] == [line.split()[0] for line in expected[1:]]


def test_brokers_narrow_what_is_looked_at(kreplica: Any) -> None:
    every = kafka_s_listing(KILLED / "topics-describe.txt")
    document = kreplica("describe", "--dump", "sample", "--all", "--broker", "3", "-o", "json").document
    assert set(listed(document)) == {place for place, (_, replicas, _) in every.items() if 3 in replicas}


def test_internal_topics_can_be_left_out(kreplica: Any) -> None:
    document = kreplica("describe", "--dump", "sample", "--all", "--exclude-internal", "-o", "json").document
    topics = {row["topic"] for row in document["partitions"]}
    assert len(topics) == 16
    assert not any(topic.startswith("__") for topic in topics)


# clusters that no file of the golden data shows


@pytest.fixture
def dump(tmp_path: Path) -> Any:
    def write(snapshot: ClusterSnapshot) -> Path:
        write_snapshot(snapshot, tmp_path / "dumps")
        return tmp_path / "dumps"

    return write


def test_an_incomplete_answer_exits_5_and_names_what_is_missing(kreplica: Any, dump: Any) -> None:
    path = dump(snapshot_of([partition()], gaps=(hidden(37),)))
    verdict = kreplica("describe", "--dump", path)
    assert verdict.code == 5
    assert verdict.out.startswith("INCOMPLETE no findings among 1 visible topic\n")
    assert "missing  37 topics are hidden [from you]\n" in verdict.out
    assert verdict.err == "warning: 37 topics are hidden [from you]\n"
    clean = kreplica("describe", "--dump", path, "--under-replicated")
    assert (clean.code, clean.out) == (5, "no findings among 1 visible topic; 37 topics are hidden [from you]\n")
    document = kreplica("describe", "--dump", path, "--under-replicated", "--exit-zero", "-o", "json")
    assert document.code == 5, "--exit-zero is about findings; a gate never passes on incomplete data"
    assert document.document["summary"]["complete"] is False
    assert document.document["clusters"][0]["gaps"][0]["count"] == 37


def test_findings_are_worse_than_gaps(kreplica: Any, dump: Any) -> None:
    path = dump(snapshot_of([partition(isr=[1])], gaps=(hidden(37),)))
    assert kreplica("describe", "--dump", path, "--under-replicated").code == 1
    assert "missing  37 topics" in kreplica("describe", "--dump", path).out


def test_what_a_source_cannot_tell_is_no_clean_answer(kreplica: Any, dump: Any) -> None:
    path = dump(snapshot_of([partition(min_isr=None)]))
    ended = kreplica("describe", "--dump", path, "--under-min-isr")
    assert ended.code == 5
    assert ended.ageless == "no findings among 1 topic; for 1 partition this source cannot tell\n"


def test_a_cluster_without_partitions(kreplica: Any, dump: Any) -> None:
    path = dump(snapshot_of([], [{"broker": 1, "alive": True}]))
    assert kreplica("describe", "--dump", path).out.startswith("EMPTY there is no partition to judge\n")
    for words in (["--under-replicated"], ["--all"], ["--all", "--group-by", "topic"], ["--all", "--group-by", "rack"]):
        for form in ("table", "json", "jsonl", "csv", "markdown"):
            assert kreplica("describe", "--dump", path, *words, "-o", form).code == 5


def test_causes_are_counted_by_broker_and_the_rest_is_numbered(kreplica: Any, dump: Any) -> None:
    brokers = [{"broker": number, "alive": number == 1} for number in range(1, 9)]
    rows = [partition(number=number, replicas=[1, 2 + number % 7], isr=[1]) for number in range(14)]
    out = kreplica("describe", "--dump", dump(snapshot_of(rows, brokers))).out
    assert "cause    broker 2 gone  explains 2 (2 with failing writes)\n" in out
    assert "         and 2 more: --group-by cause lists them\n" in out


@pytest.mark.parametrize(
    ("broker", "cause"),
    [
        (
            {"broker": 2, "alive": True},
            (
                "not known for 1: leader 1 slow, broker 2 starting, stopping or cut off, or the way from 1 to 2;"
                " read the server.log of brokers 1 and 2\n"
            ),
        ),
        ({"broker": 2}, "broker 2 in no ISR and leads nothing, so most likely gone  explains 1"),
    ],
)
def test_what_is_likely_is_said_as_such_and_never_in_rows(
    kreplica: Any, dump: Any, broker: dict[str, Any], cause: str
) -> None:
    path = dump(snapshot_of([partition(replicas=[1, 2], isr=[1])], [{"broker": 1, "alive": True}, broker]))
    assert cause in kreplica("describe", "--dump", path).out
    (row,) = kreplica("describe", "--dump", path, "--under-replicated", "-o", "json").document["partitions"]
    assert row["causes"] == []


def test_where_nothing_is_known_nothing_is_guessed(kreplica: Any, dump: Any) -> None:
    rows = [partition(number=0, replicas=[1, 2], isr=[1]), partition(number=1, replicas=[2, 1], isr=[2, 1], leader=2)]
    out = kreplica("describe", "--dump", dump(snapshot_of(rows))).out
    assert "cause    not known for 1: leader 1 slow, follower 2 slow, or the way from 1 to 2; read" in out


def test_brackets_in_names_are_no_markup(kreplica: Any, tmp_path: Path) -> None:
    path = tmp_path / "[red]prod[bold] :smile:.txt"
    path.write_text((KILLED / "topics-describe.txt").read_text().partition("[stderr]")[0])
    out = kreplica("describe", "--dump", path).out
    assert f"cluster  {path}, 145 partitions" in out
    assert f"next     kreplica describe --dump '{path}' --offline" in out


def test_standard_input_is_a_dump(process: Any) -> None:
    with (KILLED / "topics-describe.txt").open("rb") as text:
        ended = process("describe", "--dump", "-", "--offline", "-o", "json", stdin=text)
        out, _ = ended.communicate(timeout=60)
    assert ended.returncode == 1
    assert set(listed(json.loads(out))) == {("single-copy", 0), ("single-copy", 2)}
