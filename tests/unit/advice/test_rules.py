"""Each rule of advice: a cluster or client that breaks it, one that does not, and one at the edge.

What is expected comes from Kafka's documentation and sources as each rule names them. A rule without its three cases
fails here.
"""

from __future__ import annotations

import pytest
from clusters.advice_cases import CASES
from clusters.advised import ALTER, ELR, Client, Cluster, Subject, rf
from clusters.generated import partition, snapshot_of

from kreplica.advice.advise import OWN_RULES, advise, advise_client
from kreplica.advice.broker_rules import BROKER_RULES
from kreplica.advice.facts import ClientFacts, ClusterFacts
from kreplica.advice.model import Advice, ClientRule, Recommendation
from kreplica.advice.topic_rules import TOPIC_RULES
from kreplica.model.tables.schema import CONFIGS
from kreplica.model.tables.table import Table

RULES = {rule.name: rule for rule in OWN_RULES}


def judge(name: str, subject: Subject) -> Advice:
    rule = RULES[name]
    if isinstance(subject, Client):
        assert isinstance(rule, ClientRule)
        facts = None if subject.cluster is None else subject.cluster.facts()
        return advise_client(ClientFacts("client.properties", subject.properties), rule.scope, facts, [rule])
    return advise(subject.facts(), [rule])


def one(advice: Advice) -> Recommendation:
    (found,) = advice
    return found


def test_every_rule_has_its_cases() -> None:
    differing = CASES.keys() ^ RULES.keys()
    assert not differing, f"give three cases in tests/support/clusters/advice_cases.py: {differing}"
    assert list(CASES) == list(RULES)


@pytest.mark.parametrize("name", CASES)
def test_what_breaks_a_rule_gets_its_advice(name: str) -> None:
    cases = CASES[name]
    advice = judge(name, cases.violating)
    found = one(advice)
    current, recommended, severity, command = cases.says
    assert (found.current, found.recommended, found.severity.word) == (current, recommended, severity)
    assert found.command is not None
    assert found.command.startswith(command)
    assert found.rule == name
    assert found.why
    assert found.price
    assert found.evidence is None
    assert advice.unjudged == ()


@pytest.mark.parametrize("name", CASES)
def test_what_is_set_well_gets_none(name: str) -> None:
    assert judge(name, CASES[name].clean) == Advice((), ())


@pytest.mark.parametrize("name", CASES)
def test_the_edge(name: str) -> None:
    advice = judge(name, CASES[name].edge)
    assert [found.recommended for found in advice] == ([] if CASES[name].at_edge is None else [CASES[name].at_edge])
    assert advice.unjudged == ()


def test_a_cluster_set_well_gets_no_advice_at_all() -> None:
    assert advise(Cluster().facts()) == Advice((), ())
    assert advise(Cluster(features=ELR).facts()) == Advice((), ())


# what the cases do not show


def test_min_isr_above_rf_means_something_else_before_3_7() -> None:
    topic = rf(3, min_isr=4)
    assert one(judge("min-isr-above-rf", Cluster(topic))).severity.word == "info"
    assert one(judge("min-isr-above-rf", Cluster(topic, features={"metadata.version": 14}))).severity.word == "warning"
    assert one(judge("min-isr-above-rf", Cluster(topic, features={"metadata.version": 15}))).severity.word == "info"
    for protocol, severity in (("3.9-IV0", "info"), ("3.7", "info"), ("3.6-IV2", "warning"), ("2.8-IV1", "warning")):
        cluster = Cluster(topic, {"inter.broker.protocol.version": protocol}, features={})
        assert one(judge("min-isr-above-rf", cluster)).severity.word == severity


def test_min_isr_above_rf_of_a_single_copy_is_a_matter_of_copies() -> None:
    assert judge("min-isr-above-rf", Cluster(rf(1, min_isr=2))) == Advice((), ())
    alone = one(judge("min-isr-above-rf", Cluster(rf(1, min_isr=2), racks=("a",))))
    assert (alone.setting, alone.recommended) == ("min.insync.replicas", "1")


def test_a_single_broker_holds_single_copies() -> None:
    assert judge("rf-one", Cluster(rf(1), racks=("a",))) == Advice((), ())


def test_more_copies_come_before_more_racks() -> None:
    together = Cluster(rf(2, min_isr=1), racks=("a", "a", "b"))
    assert judge("rack-violation", together) == Advice((), ())
    assert '"replicas":[1,2,3]' in str(one(judge("rf-two", together)).command)


def test_min_isr_is_left_to_topics_while_small_ones_inherit_it() -> None:
    single = [partition(), partition("small", replicas=[1, 2], isr=[1, 2])]
    assert judge("default-min-isr", Cluster(single, {"min.insync.replicas": "1"})) == Advice((), ())
    own = Cluster(single, {"min.insync.replicas": "1"}, topic={"min.insync.replicas": "1"})
    assert one(judge("default-min-isr", own)).recommended == "2"


def test_with_elr_the_price_names_what_a_change_of_min_isr_clears() -> None:
    assert "KIP-966" in one(judge("min-isr-one", Cluster(rf(3, min_isr=1), features=ELR))).price
    assert "KIP-966" not in one(judge("min-isr-one", Cluster(rf(3, min_isr=1)))).price


def test_kafkas_own_topics_are_critical() -> None:
    offsets = [partition("__consumer_offsets", internal=True, replicas=[1], isr=[1])]
    found = one(judge("rf-one", Cluster(offsets)))
    assert found.severity.word == "critical"
    assert "committed offsets of all groups go with it" in found.why
    assert one(judge("unclean-enabled", CASES["unclean-enabled"].edge)).severity.word == "critical"


def test_what_is_inherited_is_the_brokers_matter() -> None:
    inherited = Cluster(rf(3, unclean_leader_election=True), {"unclean.leader.election.enable": "true"})
    rows = [{"entity_type": "topic", "entity": "orders", "name": "unclean.leader.election.enable"}]
    configs = Table.from_rows(CONFIGS, [row | {"value": "true", "origin": "broker-static"} for row in rows])
    snapshot = snapshot_of(inherited.partitions, [], configs=configs)
    assert advise(ClusterFacts(snapshot), [RULES["unclean-enabled"]]) == Advice((), ())
    flushed = [
        {"entity_type": "topic", "entity": "orders", "name": "flush.ms", "value": "1", "origin": "broker-static"}
    ]
    snapshot = snapshot_of([partition()], [], configs=Table.from_rows(CONFIGS, flushed))
    assert advise(ClusterFacts(snapshot), [RULES["flush-ms"]]) == Advice((), ())
    assert one(judge("unclean-default", inherited)).scope.value == "cluster"


def test_brokers_that_differ_are_named() -> None:
    found = one(judge("unclean-default", CASES["unclean-default"].edge))
    assert (found.scope.value, found.name) == ("broker", "2")
    assert found.command == f"{ALTER} brokers --entity-name 2 --add-config unclean.leader.election.enable=false"


def test_too_few_live_brokers_give_no_command_and_the_reason() -> None:
    found = one(judge("rf-one", Cluster(rf(1), dead=(3,))))
    assert (found.recommended, found.command) == ("3", None)
    assert "too few brokers are live" in found.why


def test_a_move_under_way_gets_no_second_one() -> None:
    moving = [partition(replicas=[1, 2, 3], isr=[1], adding=[2, 3], removing=[])]
    found = one(judge("rf-one", Cluster(moving)))
    assert (found.current, found.command) == ("1", None)


@pytest.mark.parametrize("asked", [{"enable.idempotence": "true"}, {"transactional.id": "t"}])
@pytest.mark.parametrize(
    ("name", "contradiction"),
    [
        ("acks", {"acks": "1"}),
        ("retries-zero", {"retries": "0"}),
        ("in-flight", {"max.in.flight.requests.per.connection": "6"}),
    ],
)
def test_what_contradicts_idempotence_stops_the_producer(
    asked: dict[str, str], name: str, contradiction: dict[str, str]
) -> None:
    found = one(judge(name, Client(asked | contradiction)))
    assert found.severity.word == "critical"
    assert "the producer does not start" in found.why


def test_without_idempotence_more_in_flight_only_changes_the_order() -> None:
    alone = Client({"enable.idempotence": "false", "max.in.flight.requests.per.connection": "6"})
    assert one(judge("in-flight", alone)).severity.word == "warning"


def test_what_is_not_known_is_said_and_not_judged() -> None:
    bare = snapshot_of([partition(min_isr=None, unclean_leader_election=None)], [{"broker": 1}])
    missing = {one.rule: one.missing for one in advise(ClusterFacts(bare)).unjudged}
    assert missing == {
        **{rule.name: "brokers' settings" for rule in BROKER_RULES if rule.name != "racks"},
        "racks": "racks of the brokers",
        "rack-violation": "racks of the brokers",
        **dict.fromkeys(("min-isr-one", "min-isr-equals-rf", "min-isr-above-rf"), "min.insync.replicas"),
        "unclean-enabled": "unclean.leader.election.enable",
        **{rule.name: rule.reads[0] for rule in TOPIC_RULES if rule.reads},
    }
    for name in ("isolation", "transaction-timeout"):
        client = Client({"transactional.id": "t", "transaction.timeout.ms": "1"})
        assert [one.rule for one in judge(name, client).unjudged] == [name]


def test_a_setting_that_a_version_lacks_is_not_missed() -> None:
    facts = Cluster().facts()
    for settings in facts.settings["broker"].values():
        del settings["share.coordinator.state.topic.min.isr"]
    assert advise(facts) == Advice((), ())


def test_the_worst_comes_first() -> None:
    cluster = Cluster(
        [partition("__consumer_offsets", internal=True, replicas=[1], isr=[1]), *rf(1)],
        {"auto.create.topics.enable": "true", "offsets.topic.num.partitions": "1"},
    )
    severities = [found.severity for found in advise(cluster.facts())]
    assert severities == sorted(severities, reverse=True)
    assert len(set(severities)) == 3
