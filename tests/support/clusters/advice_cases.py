"""Cases that break each rule of advice, cases that do not, and edges; expectations are from Kafka's documentation."""

from __future__ import annotations

from collections.abc import Mapping

from clusters.advised import ALTER, ELR, EVERY_BROKER, NEVER, REASSIGN, TOPIC, Cases, Client, Cluster, own_topic, rf
from clusters.generated import partition

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
        ("2 racks in 1 of 1 partition", "3 racks", "warning", f"{REASSIGN}[1,4,3]}}]}}' > "),
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
