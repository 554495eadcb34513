"""kreplica recommend: the screen, exit codes, clients without a cluster, what cannot be judged, bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from clusters.generated import hidden, partition, snapshot_of

from commands.recommend.answer import connection_options
from commands.shared.options.common import SourceOptions
from kreplica.config.handle import ClusterHandle
from kreplica.model.tables.schema import CONFIGS
from kreplica.model.tables.table import Table
from kreplica.store.writing import write_snapshot

GOLDEN = Path(__file__).parents[2] / "golden"
TEXT = GOLDEN / "kafka-4.3.1" / "1-healthy" / "topics-describe.txt"
KCAT = GOLDEN / "kcat"


@pytest.fixture
def properties(tmp_path: Path) -> Any:
    """Writes lines into a properties file."""

    def write(*lines: str, name: str = "client.properties") -> Path:
        path = tmp_path / name
        path.write_text("\n".join(lines))
        return path

    return write


def test_rows_of_the_sample(kreplica: Any) -> None:
    ended = kreplica("recommend", "--dump", "sample", "-o", "json")
    rows = ended.document["recommendations"]
    assert [(row["severity"], row["rule"], row["name"], row["recommended"]) for row in rows] == [
        ("warning", "rf-one", "single-copy", "3"),
        ("warning", "min-isr-equals-rf", "audit.log", "2"),
        ("warning", "min-isr-equals-rf", "bulk-move", "3"),
        ("warning", "min-isr-equals-rf", "two-copies", "3"),
    ]
    assert {row["scope"] for row in rows} == {"topic"}
    assert {row["evidence"] for row in rows} == {None}
    assert rows[1] | {"why": "", "price": ""} == {
        "scope": "topic",
        "name": "audit.log",
        "rule": "min-isr-equals-rf",
        "setting": "min.insync.replicas",
        "current": "3",
        "origin": "topic",
        "recommended": "2",
        "severity": "warning",
        "why": "",
        "evidence": None,
        "price": "",
        "command": "kafka-configs --bootstrap-server HOST:PORT --alter --entity-type topics --entity-name audit.log"
        " --add-config min.insync.replicas=2",
    }
    summary = ended.document["summary"]
    assert (summary["recommendations"], summary["by_severity"]) == (4, {"warning": 4})
    assert {one["missing"] for one in summary["unjudged"]} == {"brokers' settings", "flush.messages", "flush.ms"}
    assert ended.code == 1


def test_check_and_recommend_name_the_same_topics(kreplica: Any) -> None:
    rules = ("rf-one", "min-isr-equals-rf")
    words = [word for rule in rules for word in ("--rule", rule)]
    checked = kreplica("check", "--dump", "sample", *words, "-o", "json").document["findings"]
    advised = kreplica("recommend", "--dump", "sample", "-o", "json").document["recommendations"]
    assert {(row["rule"], row["topic"]) for row in checked} == {(row["rule"], row["name"]) for row in advised}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 1),
        (["--fail-on", "critical"], 5),  # nothing that bad, but brokers' settings were not judged
        (["--exit-zero"], 0),
        (["--topic", "orders"], 5),
        (["--topic", "audit.log", "--fail-on", "info"], 1),
    ],
)
def test_exit_codes(kreplica: Any, words: list[str], code: int) -> None:
    assert kreplica("recommend", "--dump", "sample", *words).code == code


def test_advice_that_many_topics_share_is_said_once(kreplica: Any, tmp_path: Path) -> None:
    rows = [partition(f"topic-{number:03}", min_isr=3) for number in range(500)]
    brokers = [{"broker": number, "rack": rack, "alive": True} for number, rack in enumerate("abc", start=1)]
    write_snapshot(snapshot_of(rows, brokers), tmp_path)
    out = kreplica("recommend", "--dump", tmp_path).out
    assert out.startswith("WARNING 500 recommendations (500 warning) for 500 topics and 3 brokers of test\n")
    assert out.count("min.insync.replicas 3 -> 2  [min-isr-equals-rf]") == 1
    assert "500 topics: topic-000, topic-001, topic-002, topic-003, topic-004, and 495 more" in out
    assert "# and the same for the other 499: their commands by -o json\n" in out
    assert len(kreplica("recommend", "--dump", tmp_path, "-o", "jsonl").out.splitlines()) == 500


def test_a_long_command_is_left_to_json(kreplica: Any, tmp_path: Path) -> None:
    rows = [partition("wide", number, replicas=[1], isr=[1]) for number in range(40)]
    brokers = [{"broker": number, "rack": rack, "alive": True} for number, rack in enumerate("abc", start=1)]
    write_snapshot(snapshot_of(rows, brokers), tmp_path)
    (row,) = kreplica("recommend", "--dump", tmp_path, "-o", "json").document["recommendations"]
    assert (
        f"set    a command of {len(row['command'])} characters: take it from -o json"
        in kreplica("recommend", "--dump", tmp_path).out
    )
    document = json.loads(row["command"].split("'")[1])
    assert [one["partition"] for one in document["partitions"]] == list(range(40))
    assert all(sorted(one["replicas"]) == [1, 2, 3] and one["replicas"][0] == 1 for one in document["partitions"])


def test_text_of_kafka_topics_is_judged_as_far_as_it_tells(kreplica: Any) -> None:
    ended = kreplica("recommend", "--dump", TEXT, "-o", "json")
    assert {row["rule"] for row in ended.document["recommendations"]} >= {"min-isr-equals-rf"}
    assert {row["origin"] for row in ended.document["recommendations"]} <= {"assignment", None}
    assert "warning: brokers' settings unavailable: 13 rules skipped\n" in ended.err
    assert ended.code == 1


def test_clients_need_no_cluster(kreplica: Any, properties: Any) -> None:
    producer = properties("acks=1", "retries=0", name="p.properties")
    consumer = properties("group.id=g", name="c.properties")
    words = ["--producer-config", producer, "--consumer-config", consumer]
    ended = kreplica("recommend", *words, "-o", "json")
    assert [(row["scope"], row["rule"], row["name"]) for row in ended.document["recommendations"]] == [
        ("producer", "acks", str(producer)),
        ("producer", "idempotence-lost", str(producer)),
        ("producer", "retries-zero", str(producer)),
        ("consumer", "auto-commit", str(consumer)),
    ]
    assert ended.document["clusters"] == []
    assert [one["rule"] for one in ended.document["summary"]["unjudged"]] == ["isolation"]
    assert ended.code == 1
    lines = ended.document["recommendations"][1]["command"].splitlines()
    followed = properties(*lines, name="followed.properties")
    good = kreplica("recommend", "--producer-config", followed)
    assert (good.code, good.out) == (0, "GOOD nothing to recommend for these clients, no cluster named\n")


def test_clients_are_held_against_the_cluster_named(kreplica: Any, properties: Any, tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    write_snapshot(snapshot_of([partition("__transaction_state", internal=True)], [{"broker": 1}]), folder)
    consumer = properties("group.id=g", "enable.auto.commit=false")
    words = ["--consumer-config", consumer, "--fail-on", "info", "-o", "json"]
    rows = kreplica("recommend", "--dump", folder, *words).document["recommendations"]
    assert [(row["rule"], row["recommended"]) for row in rows] == [("isolation", "read_committed")]


def test_properties_that_are_not_kafkas_are_a_warning_only(kreplica: Any, properties: Any) -> None:
    file = properties("acks=all", "retires=3", "schema.registry.url=http://r", "enable.idempotence=true")
    ended = kreplica("recommend", "--producer-config", file)
    assert ended.code == 0
    assert f"warning: {file}: client property retires is not one of Kafka's; did you mean retries?\n" in ended.err
    assert f"warning: {file}: client property schema.registry.url is not one of Kafka's\n" in ended.err


def test_no_value_but_those_judged_is_printed(kreplica: Any, properties: Any) -> None:
    secret = 'sasl.jaas.config=x required password="hidden-word";'
    file = properties("acks=1", secret, "my.password=hidden-word")
    for form in ("table", "json", "csv"):
        ended = kreplica("recommend", "--producer-config", file, "-o", form)
        assert "hidden-word" not in ended.out + ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--producer-config", "nowhere"], "error: cannot read client properties nowhere; no such file or directory"),
        ([], "error: no cluster is named"),
        (["--dump", "nowhere"], "error: cannot read nowhere"),
        (["--dump", "sample", "--topic", "odrers"], "error: no topic matches 'odrers'"),
    ],
)
def test_bad_input_is_one_clear_line(kreplica: Any, words: list[str], said: str) -> None:
    ended = kreplica("recommend", *words)
    assert ended.code == 2
    assert ended.err.startswith(said)
    assert ended.err.count("\n") == 1


def test_a_property_that_is_no_number(kreplica: Any, properties: Any) -> None:
    file = properties("retries=many")
    ended = kreplica("recommend", "--producer-config", file)
    assert (ended.code, ended.err) == (2, f"error: {file}: retries is not a number\n")


def test_gaps_keep_a_gate_from_passing(kreplica: Any, tmp_path: Path) -> None:
    settings = {"default.replication.factor": "1", "min.insync.replicas": "1"}
    rows = [
        {"entity_type": "broker", "entity": "1", "name": name, "value": value, "origin": "default"}
        for name, value in settings.items()
    ]
    brokers = [{"broker": 1, "rack": "a", "alive": True}]
    flush = [
        {"entity_type": "topic", "entity": "orders", "name": name, "value": None, "origin": "default"}
        for name in ("flush.messages", "flush.ms")
    ]
    single = [partition(replicas=[1], isr=[1], min_isr=1)]
    for gaps, code in (((), 0), ((hidden(3),), 5)):
        folder = tmp_path / str(code)
        configs = Table.from_rows(CONFIGS, [*rows, *flush])
        write_snapshot(snapshot_of(single, brokers, configs=configs, gaps=gaps), folder)
        ended = kreplica("recommend", "--dump", folder)
        assert ended.code == code, ended.out
        assert ended.out.startswith("GOOD" if code == 0 else "INCOMPLETE")


@pytest.mark.parametrize(
    ("handle", "config", "expected"),
    [
        (ClusterHandle("x", "b:1,c:2"), None, "--bootstrap-server b:1,c:2"),
        (ClusterHandle("x", "b:1"), "my file", "--bootstrap-server b:1 --command-config 'my file'"),
        (ClusterHandle("x", "b:1", properties={"sasl.mechanism": "PLAIN"}), None, "b:1 --command-config FILE"),
        (ClusterHandle("x", dump="sample"), None, "--bootstrap-server HOST:PORT"),
    ],
)
def test_commands_reach_the_cluster_that_was_read(handle: ClusterHandle, config: str | None, expected: str) -> None:
    options = SourceOptions(None, config, None, None, None, None, None)
    assert connection_options(handle, options).endswith(expected)
