"""Features of KRaft clusters, beside what Kafka's own classes say of them."""

from __future__ import annotations

import pytest

from kreplica.engine.checkers.outcome import observe
from kreplica.engine.fault_plan import At, Crash, Step
from kreplica.engine.setup import SECOND, TopicSetup, cluster
from kreplica.engine.trace import Kind, fields_of
from kreplica.engine.versions.features import FEATURES, OLDEST_METADATA, feature_levels, feature_named, with_features
from kreplica.engine.versions.supported import VERSIONS, ControllerKind, version_named
from kreplica.errors import UsageError
from kreplica.model.metadata_versions import metadata_version_level

OF_KAFKA = """
transaction.version 0 3.3-IV3 {} latest=2
transaction.version 1 4.0-IV2 {} latest=2
transaction.version 2 4.0-IV2 {} latest=2
group.version 0 3.3-IV3 {} latest=1
group.version 1 4.0-IV0 {} latest=1
eligible.leader.replicas.version 0 3.3-IV3 {} latest=1
eligible.leader.replicas.version 1 4.1-IV0 {metadata.version=23} latest=1
"""
"""Of Kafka 4.3.1, for each of Feature.values() and of its featureVersions(): featureName, featureLevel,
bootstrapMetadataVersion, dependencies, latestProduction. MetadataVersion.MINIMUM_VERSION is 3.3-IV3."""
ELR, TRANSACTIONS, GROUPS = "eligible.leader.replicas.version", "transaction.version", "group.version"


def test_levels_are_those_of_kafka() -> None:
    told = [line.split() for line in OF_KAFKA.strip().splitlines()]
    for name, level, bootstrap, needs, latest in told:
        feature = FEATURES[name]
        assert feature.from_metadata[int(level)] == bootstrap
        assert len(feature.from_metadata) - 1 == int(latest.removeprefix("latest="))
        needed = feature.needs.get(int(level))
        assert (f"{{metadata.version={metadata_version_level(needed)}}}" if needed else "{}") == needs
    assert {name for name, *_ in told} == set(FEATURES)
    assert OLDEST_METADATA == "3.3-IV3"


@pytest.mark.parametrize("version", [one for one in VERSIONS if one.controller is ControllerKind.KRAFT], ids=str)
def test_a_version_is_a_new_cluster_of_its_release(version: object) -> None:
    """What brought a feature in the history of versions, and Kafka's rule for the levels of a new cluster, agree."""
    rules = version_named(version.name)  # type: ignore[attr-defined]
    levels = feature_levels(rules)
    assert levels.get(ELR, 0) == rules.elr
    assert max(levels.get(TRANSACTIONS, 1), 1) == rules.transaction_version
    assert levels.get(GROUPS, 0) == rules.group_version
    assert with_features(rules, dict(levels.items())) == rules
    assert with_features(rules, {"acks": 1}) is rules


@pytest.mark.parametrize(
    ("version", "values", "elr", "transactions", "groups"),
    [
        ("4.1", {ELR: 0}, False, 2, 1),
        ("4.1", {TRANSACTIONS: 1}, True, 1, 1),
        ("4.1", {TRANSACTIONS: 0, GROUPS: 0}, True, 1, 0),
        ("4.0", {ELR: 1}, True, 2, 1),
        ("4.1", {"metadata.version": "3.9"}, False, 1, 0),
        ("4.1", {"metadata.version": "4.0-IV3"}, False, 2, 1),
        ("4.1", {"metadata.version": "4.0", ELR: 1}, True, 2, 1),
        ("4.3", {"metadata.version": "26", TRANSACTIONS: 1}, True, 1, 1),
    ],
)
def test_other_levels(version: str, values: dict[str, str | int], elr: bool, transactions: int, groups: int) -> None:
    rules = with_features(version_named(version), values)
    assert (rules.elr, rules.transaction_version, rules.group_version) == (elr, transactions, groups)
    assert rules.name == version


@pytest.mark.parametrize(
    ("metadata", "rises", "broker_epochs", "directories"),
    [
        ("3.5-IV0", True, False, False),
        ("3.5-IV2", True, True, False),
        ("3.6-IV0", False, True, False),
        ("3.7-IV1", False, True, False),
        ("3.7-IV2", False, True, True),
        ("3.9", False, True, True),
    ],
)
def test_what_hangs_on_the_metadata_version(metadata: str, rises: bool, broker_epochs: bool, directories: bool) -> None:
    """isLeaderEpochBumpRequiredOnIsrShrink, fetchRequestVersion 15 and isDirectoryAssignmentSupported of Kafka."""
    rules = with_features(version_named("3.9-kraft"), {"metadata.version": metadata})
    told = (rules.epoch_rises_on_shrink, rules.broker_epoch_in_isr, rules.failed_directories_told)
    assert told == (rises, broker_epochs, directories)


@pytest.mark.parametrize(
    ("version", "values", "words"),
    [
        ("3.9", {ELR: 0}, "ZooKeeper mode here, which has no features"),
        ("3.9-kraft", {ELR: 1}, "3.9-kraft does not know it; it is there from 4.0 on"),
        ("4.1", {ELR: 2}, "there is no such level; give 0 or 1"),
        ("4.1", {"metadata.version": "3.9", ELR: 1}, "it needs metadata.version 4.0-IV1 or newer"),
        ("4.1", {"metadata.version": "4.2"}, "4.1 is played with 3.3-IV3 to 4.1-IV1"),
        ("4.1", {"metadata.version": "3.2"}, "4.1 is played with 3.3-IV3 to 4.1-IV1"),
        ("4.1", {"metadata.version": ""}, "cannot be set"),
        ("4.1", {"metadata.version": "9" * 5000}, "cannot be set"),
    ],
)
def test_what_a_release_does_not_know_is_refused(version: str, values: dict[str, str | int], words: str) -> None:
    with pytest.raises(UsageError, match="cannot be set") as found:
        with_features(version_named(version), values)
    assert words in str(found.value)


def test_an_unknown_feature_gives_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"did you mean transaction\.version"):
        feature_named("transactions.version")


@pytest.mark.parametrize(("elr", "eligible"), [(0, []), (1, [2])])
def test_a_cluster_without_elr_keeps_none(elr: int, eligible: list[int]) -> None:
    """KIP-966: who leaves an ISR below min.insync.replicas is eligible, if the feature is on."""
    setup = cluster(
        2, TopicSetup("t", ((1, 2),), {"min.insync.replicas": 2}), settings={ELR: elr}, duration=30 * SECOND
    )
    _, events = observe(setup, (Step(At(SECOND), Crash("broker-2")),), version_named("4.1"))
    states = [fields_of(event) for event in events if event.kind == Kind.PARTITION_CHANGED]
    assert list(states[-1]["elr"]) == eligible
