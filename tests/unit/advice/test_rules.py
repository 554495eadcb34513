"""Each rule of advice: a cluster or client that breaks it, one that does not, and one at the edge.

What is expected comes from Kafka's documentation and sources as each rule names them. A rule without its three cases
fails here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from generated_clusters import partition, snapshot_of

from kreplica.advice.advise import advise, advise_client
from kreplica.advice.facts import ClientFacts, ClusterFacts
from kreplica.advice.model import Advice, ClientRule, Recommendation
from kreplica.advice.registry import OWN_RULES
from kreplica.model.schema import CONFIGS
from kreplica.model.table import Table

ELR = {"metadata.version": 30, "eligible.leader.replicas.version": 1}
KRAFT = {"metadata.version": 30}
NEVER = "9223372036854775807"
GOOD_BROKER = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "unclean.leader.election.enable": "false",
    "auto.create.topics.enable": "false",
    "broker.rack": None,
    "log.flush.interval.messages": NEVER,
    "log.flush.interval.ms": None,
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "share.coordinator.state.topic.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.min.isr": "2",
    "offsets.topic.num.partitions": "50",
    "transaction.state.log.num.partitions": "50",
    "transaction.max.timeout.ms": "900000",
}
GOOD_TOPIC = {"flush.messages": NEVER, "flush.ms": NEVER}


@dataclass(frozen=True)
class Cluster:
    """Three live brokers in three racks, set well, with one good topic; what is given takes their place."""

    partitions: list[dict[str, Any]] = field(default_factory=lambda: [partition()])
    settings: Mapping[str, str | None] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    of_broker: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    topic: Mapping[str, str] = field(default_factory=dict)
    features: Mapping[str, int] = field(default_factory=lambda: KRAFT)
    racks: tuple[str | None, ...] = ("a", "b", "c")
    dead: tuple[int, ...] = ()

    def facts(self) -> ClusterFacts:
        brokers = [
            {"broker": number, "rack": rack, "alive": number not in self.dead}
            for number, rack in enumerate(self.racks, start=1)
        ]
        configs = [*self._of_brokers(brokers), *self._of_topics()]
        snapshot = snapshot_of(
            self.partitions, brokers, configs=Table.from_rows(CONFIGS, configs), features=self.features
        )
        return ClusterFacts(snapshot, way_in="--bootstrap-server b:1")

    def _of_brokers(self, brokers: list[dict[str, Any]]) -> list[dict[str, Any]]:
        rows = []
        for one in brokers:
            values = GOOD_BROKER | dict(self.settings) | dict(self.of_broker.get(one["broker"], {}))
            for name, value in values.items():
                named = {"entity_type": "broker", "entity": str(one["broker"]), "name": name, "value": value}
                rows.append(named | {"origin": self.origins.get(name, "default")})
        return rows

    def _of_topics(self) -> list[dict[str, Any]]:
        rows = []
        for topic in {row["topic"] for row in self.partitions}:
            for name, value in (GOOD_TOPIC | dict(self.topic)).items():
                origin = "topic" if name in self.topic else "default"
                named = {"entity_type": "topic", "entity": topic, "name": name, "value": value, "origin": origin}
                rows.append(named)
        return rows


@dataclass(frozen=True)
class Client:
    """The properties of a client, and its cluster if it is known."""

    properties: Mapping[str, str]
    cluster: Cluster | None = None


Subject = Cluster | Client


@dataclass(frozen=True)
class Cases:
    """What a rule says.

    Args:
        violating: Breaks it.
        says: Current value, recommended value, severity and command then; a command that begins so.
        clean: Does not break it.
        edge: Only just does, or only just does not.
        at_edge: Recommended value at the edge, None for none.
    """

    violating: Subject
    says: tuple[str | None, str, str, str]
    clean: Subject
    edge: Subject
    at_edge: str | None


ALTER = "kafka-configs --bootstrap-server b:1 --alter --entity-type"
TOPIC = f"{ALTER} topics --entity-name orders"
EVERY_BROKER = f"{ALTER} brokers --entity-default --add-config"
REASSIGN = """echo '{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":"""


def rf(count: int, **fields: Any) -> list[dict[str, Any]]:
    replicas = list(range(1, count + 1))
    return [partition(replicas=replicas, isr=replicas, **fields)]


def own_topic(name: str, partitions: int = 1) -> list[dict[str, Any]]:
    return [partition(), *(partition(name, number, internal=True) for number in range(partitions))]


CASES: Mapping[str, Cases] = {
    "default-rf": Cases(
        Cluster(settings={"default.replication.factor": "1"}),
        ("1", "3", "warning", "default.replication.factor=3  # server.properties of every broker and controller"),
        Cluster(),
        Cluster(settings={"default.replication.factor": "1"}, racks=("a", "b")),  # three copies need three brokers
        None,
    ),
    "default-min-isr": Cases(
        Cluster(settings={"min.insync.replicas": "1"}),
        ("1", "2", "warning", f"{EVERY_BROKER} min.insync.replicas=2"),
        Cluster(),
        Cluster(settings={"min.insync.replicas": "1"}, features=ELR),  # KIP-966: set by topic instead
        None,
    ),
    "unclean-default": Cases(
        Cluster(settings={"unclean.leader.election.enable": "true"}),
        ("true", "false", "warning", f"{EVERY_BROKER} unclean.leader.election.enable=false"),
        Cluster(),
        Cluster(of_broker={2: {"unclean.leader.election.enable": "true"}}),  # one broker alone
        "false",
    ),
    "auto-create": Cases(
        Cluster(settings={"auto.create.topics.enable": "true"}),
        ("true", "false", "info", "auto.create.topics.enable=false  # server.properties of every broker"),
        Cluster(),
        Cluster(settings={"auto.create.topics.enable": "true", "default.replication.factor": "1"}),
        "false",
    ),
    "racks": Cases(
        Cluster(racks=("a", None, "c")),
        (None, "the rack or zone of each broker", "warning", "broker.rack=RACK  # server.properties of broker 2"),
        Cluster(),
        Cluster(racks=("a", None, "c"), dead=(2,)),  # a dead broker's rack cannot be seen
        None,
    ),
    "log-flush-interval-messages": Cases(
        Cluster(settings={"log.flush.interval.messages": "10000"}),
        ("10000", "not set", "info", f"{EVERY_BROKER} log.flush.interval.messages={NEVER}"),
        Cluster(),
        Cluster(settings={"log.flush.interval.messages": str(2**63 - 2)}),
        "not set",
    ),
    "log-flush-interval-ms": Cases(
        Cluster(settings={"log.flush.interval.ms": "1000"}, origins={"log.flush.interval.ms": "broker-dynamic"}),
        ("1000", "not set", "info", f"{ALTER} brokers --entity-name 1 --add-config log.flush.interval.ms={NEVER} && "),
        Cluster(),
        Cluster(settings={"log.flush.interval.ms": NEVER}),
        None,
    ),
    "offsets-topic-rf": Cases(
        Cluster(settings={"offsets.topic.replication.factor": "1"}),
        ("1", "3", "warning", "offsets.topic.replication.factor=3  # server.properties of every broker"),
        Cluster(),
        Cluster(own_topic("__consumer_offsets"), {"offsets.topic.replication.factor": "1"}),  # is made already
        None,
    ),
    "transactions-topic-rf": Cases(
        Cluster(settings={"transaction.state.log.replication.factor": "2"}),
        ("2", "3", "info", "transaction.state.log.replication.factor=3  # server.properties"),
        Cluster(),
        Cluster(settings={"transaction.state.log.replication.factor": "4"}),
        None,
    ),
    "share-topic-rf": Cases(
        Cluster(settings={"share.coordinator.state.topic.replication.factor": "1"}),
        ("1", "3", "warning", "share.coordinator.state.topic.replication.factor=3  # server.properties"),
        Cluster(),
        Cluster(settings={"share.coordinator.state.topic.replication.factor": "1"}, racks=("a", "b")),
        None,
    ),
    "transactions-topic-min-isr": Cases(
        Cluster(settings={"transaction.state.log.min.isr": "1"}),
        ("1", "2", "warning", "transaction.state.log.min.isr=2  # server.properties"),
        Cluster(),
        Cluster(settings={"transaction.state.log.min.isr": "3"}),  # all copies: any restart stops transactions
        "2",
    ),
    "share-topic-min-isr": Cases(
        Cluster(settings={"share.coordinator.state.topic.min.isr": "1"}),
        ("1", "2", "warning", "share.coordinator.state.topic.min.isr=2  # server.properties"),
        Cluster(),
        Cluster(own_topic("__share_group_state"), {"share.coordinator.state.topic.min.isr": "1"}),
        None,
    ),
    "offsets-topic-partitions": Cases(
        Cluster(own_topic("__consumer_offsets", 3)),
        ("50", "3", "info", "offsets.topic.num.partitions=3  # server.properties"),
        Cluster(own_topic("__consumer_offsets", 3), {"offsets.topic.num.partitions": "3"}),
        Cluster(),  # not made yet
        None,
    ),
    "transactions-topic-partitions": Cases(
        Cluster(own_topic("__transaction_state", 2)),
        ("50", "2", "info", "transaction.state.log.num.partitions=2  # server.properties"),
        Cluster(own_topic("__transaction_state", 2), {"transaction.state.log.num.partitions": "2"}),
        Cluster(),
        None,
    ),
    "rf-one": Cases(
        Cluster(rf(1)),
        ("1", "3", "warning", f"{REASSIGN}[1,2,3]}}]}}' > reassign-orders.json && kafka-reassign-partitions"),
        Cluster(rf(2)),
        Cluster(rf(1), racks=("a", "b")),  # two brokers hold two copies
        "2",
    ),
    "rf-two": Cases(
        Cluster(rf(2, min_isr=1)),
        ("2", "3", "info", f"{REASSIGN}[1,2,3]}}]}}' > "),
        Cluster(rf(3)),
        Cluster(rf(2, min_isr=1), racks=("a", "b")),
        None,
    ),
    "mixed-rf": Cases(
        Cluster([partition(replicas=[1, 2], isr=[1, 2]), partition(number=1)]),
        ("2 to 3", "3", "info", f"{REASSIGN}[1,2,3]}}]}}' > "),
        Cluster([partition(), partition(number=1)]),
        Cluster([partition(replicas=[1], isr=[1]), partition(number=1)]),  # rf-one answers
        None,
    ),
    "rack-violation": Cases(
        Cluster(rf(3), racks=("a", "a", "b", "c")),
        ("2 racks in 1 of 1 partitions", "3 racks", "warning", f"{REASSIGN}[1,4,3]}}]}}' > "),
        Cluster(rf(3)),
        Cluster(rf(3), racks=("a", "a", "b")),  # there are no more racks
        None,
    ),
    "min-isr-one": Cases(
        Cluster(rf(3, min_isr=1)),
        ("1", "2", "warning", f"{TOPIC} --add-config min.insync.replicas=2"),
        Cluster(rf(3, min_isr=2)),
        Cluster(rf(2, min_isr=1)),  # with two copies it would stop at every restart
        None,
    ),
    "min-isr-equals-rf": Cases(
        Cluster(rf(3, min_isr=3)),
        ("3", "2", "warning", f"{TOPIC} --add-config min.insync.replicas=2"),
        Cluster(rf(3, min_isr=2)),
        Cluster(rf(2, min_isr=2)),  # a third copy keeps the promise of two
        "3",
    ),
    "min-isr-above-rf": Cases(
        Cluster(rf(3, min_isr=4), features={}),
        ("4", "2", "warning", f"{TOPIC} --add-config min.insync.replicas=2"),
        Cluster(rf(3, min_isr=2)),
        Cluster(rf(2, min_isr=3)),
        "3, with min.insync.replicas 2",
    ),
    "unclean-enabled": Cases(
        Cluster(rf(3, unclean_leader_election=True), topic={"unclean.leader.election.enable": "true"}),
        ("true", "false", "warning", f"{TOPIC} --add-config unclean.leader.election.enable=false"),
        Cluster(),
        Cluster([partition("__transaction_state", internal=True, unclean_leader_election=True)]),
        "false",
    ),
    "flush-messages": Cases(
        Cluster(topic={"flush.messages": "1"}),
        ("1", "not set", "info", f"{TOPIC} --delete-config flush.messages"),
        Cluster(),
        Cluster(topic={"flush.messages": NEVER}),
        None,
    ),
    "flush-ms": Cases(
        Cluster(topic={"flush.ms": "1000"}),
        ("1000", "not set", "info", f"{TOPIC} --delete-config flush.ms"),
        Cluster(),
        Cluster(topic={"flush.ms": NEVER}),
        None,
    ),
    "acks": Cases(
        Client({"acks": "0"}),
        ("0", "all", "critical", "acks=all"),
        Client({"acks": "-1"}),
        Client({"acks": " ALL "}),  # ProducerConfig.parseAcks trims, and takes any case
        None,
    ),
    "acks-not-set": Cases(
        Client({}),
        (None, "all", "info", "acks=all"),
        Client({"acks": "1"}),
        Client({"transactional.id": "t"}),  # needs all and gets it
        None,
    ),
    "idempotence-off": Cases(
        Client({"enable.idempotence": "false"}),
        ("false", "true", "warning", "enable.idempotence=true"),
        Client({}),
        Client({"enable.idempotence": "False", "transactional.id": "t"}),
        "true",
    ),
    "idempotence-lost": Cases(
        Client({"acks": "1", "retries": "0"}),
        (None, "true", "warning", "enable.idempotence=true\nacks=all\nretries=2147483647"),
        Client({"acks": "all", "retries": "1", "max.in.flight.requests.per.connection": "5"}),
        Client({"max.in.flight.requests.per.connection": "6"}),
        "true",
    ),
    "retries-zero": Cases(
        Client({"retries": "0"}),
        ("0", "2147483647", "warning", "retries=2147483647"),
        Client({}),
        Client({"retries": "1"}),
        None,
    ),
    "retries-few": Cases(
        Client({"retries": "3"}),
        ("3", "2147483647", "info", "retries=2147483647"),
        Client({"retries": "0"}),
        Client({"retries": "2147483647"}),
        None,
    ),
    "in-flight": Cases(
        Client({"max.in.flight.requests.per.connection": "6"}),
        ("6", "5", "critical", "max.in.flight.requests.per.connection=5"),
        Client({}),
        Client({"max.in.flight.requests.per.connection": "5"}),
        None,
    ),
    "delivery-timeout": Cases(
        Client({"delivery.timeout.ms": "20000"}),
        ("20000", "120000", "critical", "delivery.timeout.ms=120000"),
        Client({"delivery.timeout.ms": "30005"}),
        Client({"delivery.timeout.ms": "30000"}),  # enough before 4.0, when linger.ms was 0
        "120000",
    ),
    "transaction-timeout": Cases(
        Client({"transactional.id": "t", "transaction.timeout.ms": "900001"}, Cluster()),
        ("900001", "900000", "critical", "transaction.timeout.ms=900000"),
        Client({"transaction.timeout.ms": "900001"}, Cluster()),  # no transactions
        Client({"transactional.id": "t", "transaction.timeout.ms": "900000"}, Cluster()),
        None,
    ),
    "auto-commit": Cases(
        Client({"group.id": "g"}),
        (None, "false", "info", "enable.auto.commit=false"),
        Client({"group.id": "g", "enable.auto.commit": "false"}),
        Client({"group.id": "g", "enable.auto.commit": "TRUE"}),
        "false",
    ),
    "auto-commit-without-group": Cases(
        Client({"enable.auto.commit": "true"}),
        ("true", "false", "critical", "enable.auto.commit=false"),
        Client({"enable.auto.commit": "true", "group.id": "g"}),
        Client({}),  # not set, it is false without a group
        None,
    ),
    "isolation": Cases(
        Client({}, Cluster(own_topic("__transaction_state"))),
        (None, "read_committed", "info", "isolation.level=read_committed"),
        Client({"isolation.level": "read_committed"}, Cluster(own_topic("__transaction_state"))),
        Client({}, Cluster()),  # nobody uses transactions
        None,
    ),
}
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
        **{name: "brokers' settings" for name in list(RULES)[:14] if name != "racks"},
        "racks": "racks of the brokers",
        "rack-violation": "racks of the brokers",
        **dict.fromkeys(("min-isr-one", "min-isr-equals-rf", "min-isr-above-rf"), "min.insync.replicas"),
        "unclean-enabled": "unclean.leader.election.enable",
        "flush-messages": "flush.messages",
        "flush-ms": "flush.ms",
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
