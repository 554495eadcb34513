"""What scenarios of transactions share: the topic of their coordinator, and what they look at."""

from __future__ import annotations

from collections.abc import Sequence

from kreplica.engine.rules.coordinator_partition import TRANSACTIONS_TOPIC
from kreplica.engine.setup import TopicSetup
from kreplica.engine.trace import Event
from kreplica.engine.transaction_outcomes import transaction_outcomes
from kreplica.scenarios.scenario import Probe


def transaction_state(*replicas: int) -> TopicSetup:
    """__transaction_state with one partition on these brokers; Kafka makes 50, with min.insync.replicas=2."""
    return TopicSetup(TRANSACTIONS_TOPIC, (replicas,), {"min.insync.replicas": min(2, len(replicas))})


def _torn(events: Sequence[Event]) -> object:
    return transaction_outcomes(events).torn


def _broken(events: Sequence[Event]) -> object:
    return transaction_outcomes(events).broken


def _hanging(events: Sequence[Event]) -> object:
    return transaction_outcomes(events).hanging


def _committed(events: Sequence[Event]) -> object:
    return transaction_outcomes(events).committed


PROBES: dict[str, Probe] = {"torn": _torn, "broken": _broken, "hanging": _hanging, "committed": _committed}
"""Fields of ``TransactionOutcomes`` as a scenario's cases name them."""
