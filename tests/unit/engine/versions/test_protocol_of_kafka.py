"""Requests, errors, features and defaults of releases by Kafka's own classes; rules and defaults of versions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.transactions.producer_state import UnknownProducer
from kreplica.engine.settings import Value
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import Truncation, Version

Known = dict[str, int]
"""Latest version of each request, and the errors, a release knows."""


def known(lines: list[str]) -> Known:
    words = (word.partition(":") for line in lines for word in line.split())
    return {name: int(version or 0) for name, _, version in words}


def at_least(name: str, version: int = 0) -> Callable[[Known], bool]:
    return lambda release: release.get(name, -1) >= version


EXACT: dict[str, Callable[[Known], bool]] = {
    "deletes_records": at_least("DELETE_RECORDS"),
    "idempotence": at_least("INIT_PRODUCER_ID"),
    "failed_directories_tolerated": at_least("KAFKA_STORAGE_ERROR"),
    "failed_directories_told": at_least("KAFKA_STORAGE_ERROR"),
    "fenced_fetch": at_least("FENCED_LEADER_EPOCH"),
    "bounces_are_seen": at_least("STALE_BROKER_EPOCH"),
    "latest_waits_for_epoch": at_least("OFFSET_NOT_AVAILABLE"),
    "member_id_required": at_least("MEMBER_ID_REQUIRED"),
    "consumer_detects_truncation": at_least("OFFSET_FOR_LEADER_EPOCH", 3),
    "moves_can_change": at_least("ALTER_PARTITION_REASSIGNMENTS"),
    "stable_offsets": at_least("UNSTABLE_OFFSET_COMMIT"),
    "raises_own_epoch": at_least("INIT_PRODUCER_ID", 3),
    "fenced_is_final": at_least("PRODUCER_FENCED"),
    "alter_partition": lambda release: "ALTER_ISR" in release or "ALTER_PARTITION" in release,
    "ineligible_refused": at_least("INELIGIBLE_REPLICA"),
    "tells_abortable": at_least("TRANSACTION_ABORTABLE"),
}
"""Rules that came with a request, a version of one or an error: a release has the one where it has the other."""


@pytest.mark.parametrize(("release", "lines"), answers("protocol.txt"))
def test_a_version_has_the_rules_whose_requests_and_errors_its_release_has(release: str, lines: list[str]) -> None:
    version, names = version_named(release), known(lines)
    found = {rule: getattr(version, rule) for rule in EXACT}
    assert found == {rule: has(names) for rule, has in EXACT.items()}
    assert version.truncation == truncation(names)
    assert (version.unknown_producer is not UnknownProducer.OUT_OF_ORDER) == ("UNKNOWN_PRODUCER_ID" in names)
    assert not version.follower_reads or names["FETCH"] >= 11, "2.3 has the request, and no broker that reads by it"
    assert not version.truncate_on_fetch or names["FETCH"] >= 12
    assert not version.consumer_protocol or "CONSUMER_GROUP_HEARTBEAT" in names
    assert (version.transaction_version >= 1) == ("END_TXN" in names)
    assert (version.transaction_version >= 2) == (names.get("END_TXN", 0) >= 5)


def truncation(names: Known) -> Truncation:
    """OffsetForLeaderEpoch: none, without an epoch in the answer (0), with it (1), with the asker's epoch (2)."""
    kinds = (Truncation.HIGH_WATERMARK, Truncation.KIP_101, Truncation.KIP_279, Truncation.KIP_320)
    return kinds[min(names.get("OFFSET_FOR_LEADER_EPOCH", -1) + 1, 3)]


NAMES = {
    "broker log.flush.interval.messages": "flush.messages",
    "consumer heartbeat.interval.ms": "heartbeat.interval.ms",
}
"""Settings that the engine has under another name than the broker."""
ELSEWHERE: dict[str, str] = {}
"""Settings whose default the engine takes otherwise, and why."""


def differences(version: Version, lines: list[str]) -> dict[str, tuple[str, Value]]:
    """Settings with another default than Kafka's: Kafka's, and the engine's."""
    found = {}
    for line in lines:
        whose, name, told = line.split(" ", 2)
        setting = NAMES.get(f"{whose} {name}", name)
        if setting in version.defaults and plain(told) != version.defaults[setting]:
            found[f"{whose} {name}"] = (told, version.defaults[setting])
    return found


def plain(text: str) -> Value:
    """A default as the engine writes it."""
    if text in ("true", "false"):
        return text == "true"
    if text.lstrip("-").isdigit():
        return int(text)
    if text.startswith("["):
        return {"RangeAssignor": "range"}[text.strip("[]").split(",")[0].rpartition(".")[2]]
    return {"all": ACKS_ALL}.get(text, text)


@pytest.mark.parametrize(("release", "lines"), answers("defaults.txt"))
def test_a_version_has_the_defaults_of_its_release(release: str, lines: list[str]) -> None:
    assert len(lines) > 30
    assert {
        name: why for name, why in differences(version_named(release), lines).items() if name not in ELSEWHERE
    } == {}


@pytest.mark.parametrize(("release", "lines"), answers("features.txt"))
def test_a_version_has_the_features_of_a_new_cluster_of_its_release(release: str, lines: list[str]) -> None:
    """Feature.defaultLevel of the latest metadata version that is in production."""
    levels = known(lines)
    version = version_named(release if release.startswith("4") else f"{release}-kraft")
    assert version.group_version == levels.get("group.version", 0)
    assert version.consumer_protocol == (levels.get("group.version", 0) >= 1)
    assert version.elr == (levels.get("eligible.leader.replicas.version", 0) >= 1)
    assert version.transaction_version == max(levels["transaction.version"], 1), "1 is what has no feature"
