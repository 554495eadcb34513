"""Topics, brokers and internal topics: which partitions a question is about."""

from __future__ import annotations

import re

import pytest
from clusters.generated import STRANGER, Cluster, clusters, hidden, partition, snapshot_of
from hypothesis import given
from hypothesis import strategies as st

from kreplica.errors import ExitCode, UsageError
from kreplica.model.selection import select
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.topic_pattern import topic_pattern

PATTERNS = [None, ".*", "orders", "a.b|orders", "a.b,orders", "o.*,__.*", "order"]


def places(snapshot: ClusterSnapshot) -> list[tuple[object, object]]:
    return [(row["topic"], row["partition"]) for row in snapshot.partitions.rows()]


@given(
    clusters(), st.sampled_from(PATTERNS), st.booleans(), st.lists(st.sampled_from([*range(6), STRANGER]), max_size=2)
)
def test_what_is_selected(cluster: Cluster, topics: str | None, exclude_internal: bool, brokers: list[int]) -> None:
    pattern = re.compile((topics or ".*").replace(",", "|"))
    known = {row["broker"] for row in cluster.brokers}
    known |= {broker for row in cluster.partitions for broker in row["replicas"]}
    snapshot = cluster.snapshot()
    if set(brokers) - known or (topics and not any(pattern.fullmatch(row["topic"]) for row in cluster.partitions)):
        with pytest.raises(UsageError):
            select(snapshot, topics=topics, exclude_internal=exclude_internal, brokers=brokers)
        return
    selected = select(snapshot, topics=topics, exclude_internal=exclude_internal, brokers=brokers)
    assert places(selected) == [
        (row["topic"], row["partition"])
        for row in cluster.partitions
        if pattern.fullmatch(row["topic"])
        and not (exclude_internal and row["internal"])
        and (not brokers or set(brokers) & set(row["replicas"]))
    ]
    assert selected.brokers is snapshot.brokers


@pytest.mark.parametrize(
    ("text", "name", "matches"),
    [  # as in org.apache.kafka.server.util.TopicFilterTest
        ("white1,white2", "white2", True),
        ("white1, white2", "white2", True),
        ("white_listed-topic.2", "white_listed-topic.2", True),
        ("test-(?!bad\\b)[\\w]+", "test-good", True),
        ("test-(?!bad\\b)[\\w]+", "test-bad", False),
        (" orders ", "orders", True),
        ("'orders'", "orders", True),
        ('"orders"', "orders", True),
        ("orders", "orders-eu", False),
        ("orders", "my-orders", False),
        ("a|bc", "abc", False),
    ],
)
def test_patterns_match_as_kafka_s_tools_do(text: str, name: str, matches: bool) -> None:
    assert bool(topic_pattern(text).fullmatch(name)) is matches


@pytest.mark.parametrize("text", ["(", "[", "*", "(?P<x"])
def test_what_is_no_regular_expression_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a regular expression") as caught:
        topic_pattern(text)
    assert caught.value.exit_code is ExitCode.USAGE
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "advice"),
    [("order", r"try \.\*order\.\*"), ("odrers", r"did you mean orders\?"), ("xyz", "the whole name has to match$")],
)
def test_no_such_topic_says_what_may_be_meant(text: str, advice: str) -> None:
    snapshot = snapshot_of([partition("orders"), partition("clicks")], gaps=(hidden(3),))
    with pytest.raises(UsageError, match=advice) as caught:
        select(snapshot, topics=text)
    assert "2 topics are visible, 3 hidden" in str(caught.value)


def test_what_is_wrong_with_an_expression_and_where() -> None:
    with pytest.raises(UsageError, match=r"missing \), unterminated subpattern at character 3; quote"):
        topic_pattern("ab(c")


def test_hidden_topics_are_named_only_where_there_are_any() -> None:
    with pytest.raises(UsageError, match=r"; 1 topic is visible; "):
        select(snapshot_of([partition("clicks")]), topics="orders")


def test_no_such_broker_names_those_there_are_in_order() -> None:
    snapshot = snapshot_of([partition(replicas=[2, 16])], [{"broker": 1}, {"broker": 2}])
    with pytest.raises(UsageError, match=r"no broker 3, 40; known are 1, 2, 16$"):
        select(snapshot, brokers=[40, 3])


def test_everything_is_selected_unless_asked_otherwise() -> None:
    snapshot = snapshot_of([partition("__consumer_offsets", internal=True), partition("orders")])
    assert select(snapshot) is snapshot
    assert places(select(snapshot, exclude_internal=True)) == [("orders", 0)]


def test_an_empty_cluster_has_no_topic_to_match_but_can_be_selected_whole() -> None:
    empty = snapshot_of([])
    assert select(empty) is empty
    with pytest.raises(UsageError, match="0 topics are visible"):
        select(empty, topics=".*")
