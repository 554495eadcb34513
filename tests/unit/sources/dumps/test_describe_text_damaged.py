"""Texts that were cut, edited or put together: refused with the line that is wrong, or read to the same cluster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.errors import InputError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sources.dumps.describe import read_describe_text
from kreplica.sources.dumps.text import DumpText

LAYOUTS = Path(__file__).parents[3] / "golden" / "describe-layouts"
NOW = datetime(2026, 11, 21, 7, 0, tzinfo=UTC)


def parse(text: str) -> ClusterSnapshot:
    return read_describe_text(DumpText("dump.txt", text, NOW))


def refusal(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        parse(text)
    return caught.value


# What TopicCommand prints, by release, written from its source (file and commit in tests/golden/README.md).


@dataclass(frozen=True)
class Row:
    partition: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    adding: tuple[int, ...] | None
    removing: tuple[int, ...] | None
    elr: tuple[int, ...] | None
    last_known_elr: tuple[int, ...] | None


@dataclass(frozen=True)
class Topic:
    name: str
    topic_id: str
    configs: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]


def ids(numbers: tuple[int, ...] | None) -> str:
    return "N/A" if numbers is None else ",".join(map(str, numbers))


def render(topics: list[Topic], release: str) -> str:
    return "".join(render_topic(topic, release) for topic in topics)


def render_topic(topic: Topic, release: str) -> str:
    if release == "0.8.0":
        return "".join(render_old(topic.name, row) for row in topic.rows)
    space = "" if release in ("0.8.1", "2.3") else " "
    topic_id = f"\tTopicId: {topic.topic_id}" if release in ("2.8", "3.8") else ""
    first = topic.rows[0]
    factor = len(first.replicas) - (len(first.adding or ()) if release in ("2.6", "2.8", "3.8") else 0)
    configs = ",".join(f"{name}={value}" for name, value in topic.configs)
    header = (
        f"Topic:{space}{topic.name}{topic_id}\tPartitionCount:{space}{len(topic.rows)}"
        f"\tReplicationFactor:{space}{factor}\tConfigs:{space}{configs}\n"
    )
    return header + "".join(render_row(topic.name, row, release) for row in topic.rows)


def render_old(topic: str, row: Row) -> str:
    leader = "none" if row.leader == -1 else row.leader
    start = f"topic: {topic}\tpartition: {row.partition}\tleader: {leader}"
    return f"{start}\treplicas: {ids(row.replicas)}\tisr: {ids(row.isr)}\n"


def render_row(topic: str, row: Row, release: str) -> str:
    none = "-1" if release == "0.8.1" else "none"
    leader = none if row.leader == -1 else row.leader
    text = f"\tTopic: {topic}\tPartition: {row.partition}\tLeader: {leader}"
    text += f"\tReplicas: {ids(row.replicas)}\tIsr: {ids(row.isr)}"
    if row.adding is not None and release in ("2.6", "2.8", "3.8"):
        text += f"\tAdding Replicas: {ids(row.adding)}\tRemoving Replicas: {ids(row.removing)}"
    if release == "3.8":
        text += f"\tElr: {ids(row.elr)}\tLastKnownElr: {ids(row.last_known_elr)}"
    return f"{text}\n"


RELEASES = ("0.8.0", "0.8.1", "2.3", "2.4", "2.6", "2.8", "3.8")
CONFIGS = (
    ("cleanup.policy", "compact,delete"),
    ("leader.replication.throttled.replicas", "0:1,0:2,1:3"),
    ("follower.replication.throttled.replicas", ""),
    ("retention.ms", "-1"),
    ("min.insync.replicas", "2"),
)
names = st.text("abzAZ09._-", min_size=1, max_size=12)
subsets = st.lists(st.sampled_from(range(12)), unique=True, max_size=4).map(tuple)


@st.composite
def rows(draw: st.DrawFn, partition: int) -> Row:
    replicas = draw(st.lists(st.sampled_from([0, 1, 2, 3, 10, 2147483647]), min_size=2, max_size=5, unique=True))
    isr = tuple(broker for broker in replicas if draw(st.booleans()))
    leader = draw(st.sampled_from([-1, *isr]))
    moving = draw(st.booleans())
    adding = tuple(replicas[1 : draw(st.integers(1, len(replicas)))]) if moving else None
    removing = tuple(replicas[:1]) if moving else None
    known = draw(st.booleans())
    elr, last = (draw(subsets), draw(subsets)) if known else (None, None)
    return Row(partition, leader, tuple(replicas), isr, adding, removing, elr, last)


@st.composite
def clusters(draw: st.DrawFn) -> list[Topic]:
    return [
        Topic(
            name,
            draw(st.text("AZaz09_-", min_size=22, max_size=22)),
            tuple(draw(st.lists(st.sampled_from(CONFIGS), unique=True, max_size=5))),
            tuple(draw(rows(partition)) for partition in range(draw(st.integers(1, 4)))),
        )
        for name in draw(st.lists(names, min_size=1, max_size=4, unique=True))
    ]


@examples(3)
@given(clusters(), st.sampled_from(RELEASES))
def test_what_a_release_prints_is_read_back(topics: list[Topic], release: str) -> None:
    snapshot = parse(render(topics, release))
    read = {(row["topic"], row["partition"]): row for row in snapshot.partitions.rows()}
    assert len(read) == sum(len(topic.rows) for topic in topics)
    named: set[int] = set()
    for topic in topics:
        for row in topic.rows:
            found = read[topic.name, row.partition]
            assert (found["leader"], found["replicas"]) == (row.leader, list(row.replicas))
            assert found["isr"] == list(row.isr)
            assert found["topic_id"] == (topic.topic_id if release in ("2.8", "3.8") else None)
            if release in ("2.6", "2.8", "3.8") and row.adding is not None:
                assert (found["adding"], found["removing"]) == (list(row.adding), list(row.removing or ()))
            named |= {row.leader, *row.replicas, *row.isr} - {-1}
            elr = row.elr if release == "3.8" else None
            named |= {*(elr or ()), *((row.last_known_elr or ()) if elr is not None else ())}
            assert found["elr"] == (None if elr is None else list(elr))
    assert {row["broker"] for row in snapshot.brokers.rows()} == named
    settings_read = {(row["entity"], row["name"]): row["value"] for row in snapshot.configs.rows()}
    printed = {} if release == "0.8.0" else {(topic.name, k): v for topic in topics for k, v in topic.configs}
    assert settings_read == printed


def describe(release: str = "3.8") -> str:
    """Two topics of two partitions: six lines."""
    row = Row(0, 1, (1, 2, 3), (1, 2), None, None, (3,), ())
    second = Row(1, 2, (2, 3, 1), (2, 3, 1), None, None, (), ())
    topics = [
        Topic("audit", "A" * 22, (("min.insync.replicas", "2"),), (row, second)),
        Topic("orders", "B" * 22, (), (row, second)),
    ]
    return render(topics, release)


def with_line(number: int, line: str, release: str = "3.8") -> str:
    lines = describe(release).splitlines()
    lines[number - 1] = line
    return "\n".join(lines) + "\n"


def edited(number: int, old: str, new: str, release: str = "3.8") -> str:
    line = describe(release).splitlines()[number - 1]
    assert old in line
    return with_line(number, line.replace(old, new, 1), release)


def test_the_unedited_text_is_read() -> None:
    for release in RELEASES:
        assert len(parse(describe(release)).partitions) == 4


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (edited(2, "Leader: 1", "Leader: x"), 2, "Leader is 'x', not a broker id or none"),
        (edited(2, "Leader: 1", "Leader: "), 2, "Leader is empty"),
        (edited(2, "Leader: 1", "Leader: -2"), 2, "Leader is '-2'"),
        (edited(2, "Partition: 0", "Partition: zero"), 2, "Partition is 'zero', not a partition number"),
        (edited(2, "Partition: 0", "Partition: 4294967296"), 2, "larger than any of Kafka's ids"),
        (edited(2, "Partition: 0", "Partition: 1"), 3, "partition 1 of topic audit stands there twice"),
        (edited(2, "Replicas: 1,2,3", "Replicas: 1,2,"), 2, "Replicas is '1,2,', not broker ids separated by commas"),
        (edited(2, "Replicas: 1,2,3", "Replicas: 1;2;3"), 2, "Replicas is '1;2;3'"),
        (edited(2, "Replicas: 1,2,3", "Replicas: "), 2, "Replicas is empty"),
        (edited(2, "Replicas: 1,2,3", "Replicas: 1,2,1"), 2, "a broker stands twice in 1,2,1"),
        (edited(2, "Replicas: 1,2,3", "Replicas: 1,2"), 2, "has 2 replicas, but its ReplicationFactor is 3 .line 1"),
        (edited(2, "Isr: 1,2", "Isr: 1,9999999999"), 2, "9999999999 is larger than any of Kafka's ids"),
        (edited(2, "\tIsr: 1,2", ""), 2, "Isr is missing; the line may be cut off"),
        (edited(3, "\tElr: \tLastKnownElr: ", ""), 3, "Elr is missing; the line may be cut off"),
        (edited(3, "\tLastKnownElr: ", ""), 3, "LastKnownElr is missing"),
        (edited(3, "\tElr: ", "\tElr: none"), 3, "Elr is 'none', not broker ids"),
        (edited(3, "\tElr: ", "\tAdding Replicas: 4\tElr: "), 3, "Removing Replicas is missing"),
        (edited(3, "Isr: 2,3,1", "Isr: 2,3,1 Isr: 2"), 3, "Isr stands there twice"),
        (edited(2, "Topic: audit", "Topic: au/dit"), 2, "Topic is 'au/dit', not a topic name"),
        (edited(2, "Topic: audit", "Topic: other"), 2, "topic other under the header of topic audit .line 1"),
        (edited(2, "\tTopic: audit\t", ""), 2, "not a line that kafka-topics --describe prints"),
        (edited(1, "PartitionCount: 2", "PartitionCount: 3"), 3, "only 2 of 3 partitions of topic audit .line 1"),
        (edited(1, "PartitionCount: 2", "PartitionCount: 1"), 3, "one partition of topic audit more than its"),
        (edited(1, "PartitionCount: 2", "PartitionCount: two"), 1, "PartitionCount is 'two', not a number"),
        (edited(1, "ReplicationFactor: 3", "ReplicationFactor: 2"), 2, "has 3 replicas, but its Replication"),
        (edited(1, "TopicId: AAA", "TopicId: AA"), 1, "TopicId is .*, not a topic id of 22 characters"),
        (edited(1, "\tConfigs: min.insync.replicas=2", ""), 1, "Configs is missing"),
        (edited(1, "min.insync.replicas=2", "2"), 1, "Configs is '2', not name=value"),
        (edited(1, "min.insync.replicas=2", "min.insync.replicas=many"), 1, "min.insync.replicas is 'many'"),
        (edited(1, "min.insync.replicas=2", "unclean.leader.election.enable=ja"), 1, "is 'ja', not true or false"),
        (edited(4, "Topic: orders", "Topic: audit"), 4, "topic audit stands there twice, first on line 1"),
        (with_line(5, "GROUP TOPIC PARTITION"), 5, "--describe prints: 'GROUP TOPIC PARTITION'"),
        (with_line(5, "Leader: 1\tTopic: orders"), 5, "not a line that kafka-topics"),
        (describe("0.8.0") + describe(), 5, "a line of a later release among lines as Kafka 0.8.0"),
        (edited(2, "leader: 2", "leader: 2x", "0.8.0"), 2, "leader is '2x'"),
        (edited(2, "\tisr: 2,3,1", "", "0.8.0"), 2, "isr is missing"),
        (edited(2, "partition: 1", "partition: 0", "0.8.0"), 2, "partition 0 of topic audit stands there twice"),
        (describe() + "Error while executing topic command : timed out\n", 7, "Kafka's tool failed"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_named_with_its_reason(text: str, line: int, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        parse(text)
    if caught.value.position != f"line {line}":
        pytest.fail(f"names {caught.value.position}, not line {line}: {caught.value}")
    assert caught.value.source == "dump.txt"


LINES = [(release, number) for release in RELEASES for number in range(len(describe(release).splitlines()))]


@pytest.mark.parametrize(("release", "number"), LINES)
def test_a_doubled_line_is_named(release: str, number: int) -> None:
    lines = describe(release).splitlines()
    error = refusal("\n".join([*lines[: number + 1], *lines[number:]]) + "\n")
    assert error.position == f"line {number + 2}"


@pytest.mark.parametrize("release", RELEASES[1:])
@pytest.mark.parametrize(
    ("removed", "named"), [(1, 1), (2, 2), (3, 2), (4, 4), (5, 5), (6, 5)], ids=lambda number: f"{number}"
)
def test_a_line_left_out_is_noticed(release: str, removed: int, named: int) -> None:
    """Named is the last line of the topic that lacks one, or the first that has lost its header."""
    lines = describe(release).splitlines()
    del lines[removed - 1]
    assert refusal("\n".join(lines) + "\n").position == f"line {named}"


@pytest.mark.parametrize("release", RELEASES[1:])
def test_swapped_lines_change_nothing_or_are_refused(release: str) -> None:
    lines = describe(release).splitlines()
    whole = list(parse(describe(release)).partitions.rows())
    for first in range(len(lines) - 1):
        swapped = [*lines[:first], lines[first + 1], lines[first], *lines[first + 2 :]]
        text = "\n".join(swapped) + "\n"
        if lines[first].startswith("\t") and lines[first + 1].startswith("\t"):
            assert list(parse(text).partitions.rows()) == whole
        else:
            assert refusal(text).position in (f"line {first + 1}", f"line {first + 2}", f"line {first}")


@pytest.mark.parametrize("path", sorted(LAYOUTS.glob("moving/*.txt")), ids=lambda path: path.stem)
def test_a_text_cut_anywhere_is_refused_or_whole_topics_or_noted(path: Path) -> None:
    """A cut exactly between two topics leaves no trace, one inside the last list of a line only a missing line end."""
    text = path.read_text(encoding="utf-8")
    try:
        whole = {(row["topic"], row["partition"]): row for row in parse(text).partitions.rows()}
    except InputError:
        whole = {}
    for end in range(1, len(text)):
        try:
            snapshot = parse(text[:end])
        except InputError as error:
            number = int(error.position.removeprefix("line ")) if error.position else 1
            assert number <= text[:end].count("\n") + 1
            continue
        noted = any("no line end" in note for note in snapshot.notes)
        for row in snapshot.partitions.rows():
            other = whole[row["topic"], row["partition"]]
            assert noted or all(row[name] == other[name] for name in ("leader", "replicas", "isr", "last_known_elr"))


@examples(5)
@given(
    st.sampled_from(sorted(LAYOUTS.glob("*/*.txt"))),
    st.integers(0, 2000),
    st.integers(0, 30),
    st.text(max_size=8),
)
def test_an_edit_raises_nothing_but_input_errors(path: Path, at: int, removed: int, inserted: str) -> None:
    text = path.read_text(encoding="utf-8")
    at %= len(text)
    damaged = text[:at] + inserted + text[at + removed :]
    try:
        parse(damaged)
    except InputError as error:
        number = int(error.position.removeprefix("line ")) if error.position else 1
        assert 1 <= number <= damaged.count("\n") + 1


@examples(3)
@given(st.text(st.sampled_from("Topic:Partition Leader\t\n0129,-=IsrElr"), max_size=200))
def test_any_text_raises_nothing_but_input_errors(text: str) -> None:
    try:
        parse(text)
    except InputError:
        return


@pytest.mark.parametrize(
    "line",
    [
        "[2026-11-21 07:04:43,527] WARN [AdminClient clientId=adminclient-1] Node may not be available. (org.apache)",
        "[2019-01-01 10:00:00,001] ERROR something (kafka.admin.TopicCommand$)",
        "2026-11-21 07:04:43,527 WARN x",
        'SLF4J: Failed to load class "org.slf4j.impl.StaticLoggerBinder".',
        "SLF4J(W): No SLF4J providers were found.",
        "log4j:WARN No appenders could be found for logger (kafka.utils).",
        "Warning: --zookeeper is deprecated and will be removed in a future version of Kafka.",
        "WARNING: An illegal reflective access operation has occurred",
        "OpenJDK 64-Bit Server VM warning: If the number of processors is expected to increase",
        "Picked up JAVA_TOOL_OPTIONS: -Xmx64m",
        "NOTE: Picked up JDK_JAVA_OPTIONS: -Xmx64m",
        'Defaulted container "kafka" out of: kafka, exporter',
        "java.net.ConnectException: Connection refused",
        "\tat java.base/sun.nio.ch.Net.pollConnect(Native Method)",
        "Caused by: java.io.IOException: closed",
        "\t... 12 more",
    ],
)
def test_lines_of_java_and_its_loggers_are_left_out(line: str) -> None:
    lines = describe().splitlines()
    for position in range(len(lines) + 1):
        snapshot = parse("\n".join([*lines[:position], line, *lines[position:]]) + "\n")
        assert snapshot.notes == ("left out 1 line of log output in the dump",)
        assert len(snapshot.partitions) == 4


def test_a_missing_line_end_is_noted_where_the_last_id_may_be_cut() -> None:
    for release in RELEASES:
        assert "no line end" in parse(describe(release).rstrip()).notes[-1]
        assert not any("no line end" in note for note in parse(describe(release)).notes)
    not_cut = edited(6, "LastKnownElr: ", "LastKnownElr: N/A").rstrip("\n")
    assert parse(not_cut).notes == ()


def test_blank_lines_are_nothing() -> None:
    text = describe()
    assert list(parse(text.replace("\n", "\n\n")).partitions.rows()) == list(parse(text).partitions.rows())


def test_a_topic_without_an_assignment_is_noted() -> None:
    snapshot = parse(describe("2.3") + "Topic gone doesn't exist!\n")
    assert snapshot.notes == ("1 topic without an assignment, being created or deleted: gone",)


def test_replication_factor_of_any_partition_is_taken_where_the_tool_reads_zookeeper() -> None:
    """topicPartitionAssignment.head of a Scala map is any partition; replicas of a topic may differ in number."""
    text = edited(2, "Replicas: 1,2,3", "Replicas: 1,2", "0.8.1")
    assert len(parse(text).partitions) == 4
    assert "has 3 replicas" in str(refusal(edited(1, "ReplicationFactor:3", "ReplicationFactor:2", "0.8.1")))


def test_a_reassignment_that_began_between_the_tools_two_requests_is_read() -> None:
    """Replicas as before it ([1,2]), reassignment [1,3,2] adding 3, removing 2: the tool prints a factor of 2."""
    row = Row(0, 1, (1, 2), (1, 2), (3,), (2,), (), ())
    text = render([Topic("orders", "A" * 22, (), (row,))], "3.8").replace("Factor: 1", "Factor: 2")
    assert parse(text).partitions.row(0)["adding"] == [3]


def test_a_reassignment_that_ended_between_the_tools_two_requests_is_read() -> None:
    """Replicas as after it ([1,3,4]), reassignment [1,3,4,2] adding 3 and 4, removing 2: again a factor of 2."""
    row = Row(0, 1, (1, 3, 4), (1, 3), (3, 4), (2,), (), ())
    text = render([Topic("orders", "A" * 22, (), (row,))], "3.8").replace("Factor: 1", "Factor: 2")
    assert parse(text).partitions.row(0)["removing"] == [2]
    assert "has 3 replicas" in str(refusal(text.replace("Factor: 2", "Factor: 4")))


def test_no_partition_at_all_is_an_error() -> None:
    error = refusal("[2026-11-21 07:04:43,527] WARN nothing here\n")
    assert "no partition is listed" in str(error)
