"""The lines that set a setting where it holds."""

from __future__ import annotations

from kreplica.advice.facts import BrokerGroup, ClusterFacts

BROKER_DYNAMIC = "broker-dynamic"


def set_for_topic(topic: str, setting: str, value: object, facts: ClusterFacts) -> str:
    """Sets it for one topic; topics have names that no shell minds."""
    return f"{_alter(facts)} --entity-type topics --entity-name {topic} --add-config {setting}={value}"


def unset_for_topic(topic: str, setting: str, facts: ClusterFacts) -> str:
    """Takes a topic's own value away: what holds for all topics holds then."""
    return f"{_alter(facts)} --entity-type topics --entity-name {topic} --delete-config {setting}"


def set_for_brokers(group: BrokerGroup, setting: str, value: object, facts: ClusterFacts) -> str:
    """Sets it at run time: for all brokers at once, unless some have a value of their own, which would win."""
    if group.everyone and group.settings[setting].origin != BROKER_DYNAMIC:
        return f"{_alter(facts)} --entity-type brokers --entity-default --add-config {setting}={value}"
    return " && ".join(
        f"{_alter(facts)} --entity-type brokers --entity-name {broker} --add-config {setting}={value}"
        for broker in group.ids
    )


def set_in_file(group: BrokerGroup, setting: str, value: object, *, controllers: bool = False) -> str:
    """A setting that only a start reads."""
    whose = "every broker" if group.everyone else f"broker {', '.join(map(str, group.ids))}"
    whose += " and controller" * controllers
    return f"{setting}={value}  # server.properties of {whose}, then restart one after the other"


def _alter(facts: ClusterFacts) -> str:
    return f"kafka-configs {facts.way_in} --alter"
