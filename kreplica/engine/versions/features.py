"""Features of a KRaft cluster: upgraded by an operator apart from the release, with their effect on the engine.

A cluster that is formatted with a release has the newest levels of its features; an upgraded one keeps its levels
until an operator raises them by ``kafka-features.sh upgrade``. Kafka: org.apache.kafka.server.common.Feature and
MetadataVersion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kreplica.engine.settings import Value
from kreplica.engine.versions.version import ControllerKind, Version
from kreplica.errors import UsageError
from kreplica.model.metadata_versions import metadata_version_level, metadata_version_names
from kreplica.model.settings import ELR_FEATURE, GROUP_VERSION, METADATA_VERSION, TRANSACTION_VERSION
from kreplica.model.wording.nearest_names import nearest_or_known

Release = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature besides metadata.version.

    Args:
        since: The first release with levels of it that are not for tests only.
        from_metadata: By level, the metadata.version from which a new cluster has it (bootstrapMetadataVersion).
        needs: By level, the lowest metadata.version that it can be set with (dependencies).
    """

    since: Release
    from_metadata: tuple[str, ...]
    needs: Mapping[int, str] = field(default_factory=dict)

    def level_of_new_cluster(self, metadata_level: int) -> int:
        """The level of a cluster that is formatted with a metadata.version (Feature.defaultLevel)."""
        begins = map(metadata_version_level, self.from_metadata)
        return max(level for level, begin in enumerate(begins) if (begin or 0) <= metadata_level)


FEATURES: dict[str, Feature] = {
    ELR_FEATURE: Feature((4, 0), ("3.3-IV3", "4.1-IV0"), {1: "4.0-IV1"}),
    TRANSACTION_VERSION: Feature((4, 0), ("3.3-IV3", "4.0-IV2", "4.0-IV2")),
    GROUP_VERSION: Feature((4, 0), ("3.3-IV3", "4.0-IV0")),
}
"""Features by name. kraft.version, share.version and streams.version concern parts that the engine does not play."""

FEATURE_NAMES = (METADATA_VERSION, *FEATURES)

OLDEST_METADATA = "3.3-IV3"
"""The oldest metadata.version that the engine plays, and the oldest that 4.x can run with."""


def feature_named(name: str) -> str:
    """Returns the name if it is a feature.

    Raises:
        UsageError: The engine plays no such feature; the nearest names are given.
    """
    if name in FEATURE_NAMES:
        return name
    raise UsageError(f"the engine knows no feature {name!r}", "", nearest_or_known(name, FEATURE_NAMES))


def feature_levels(version: Version) -> dict[str, int]:
    """The levels of a new cluster of that version, metadata.version among them; none in ZooKeeper mode."""
    if version.controller is ControllerKind.ZOOKEEPER:
        return {}
    newest = _newest_metadata(version)
    known = {name: feature for name, feature in FEATURES.items() if feature.since <= version.number}
    return {METADATA_VERSION: newest} | {name: one.level_of_new_cluster(newest) for name, one in known.items()}


def same_level(name: str, value: Value, level: int | None) -> bool:
    """True if a value of a feature is that level; a metadata.version may be given by its name."""
    if level is None or name not in FEATURE_NAMES:
        return False
    return level == (metadata_version_level(str(value)) if name == METADATA_VERSION else value)


def with_features(version: Version, values: Mapping[str, Value]) -> Version:
    """Returns the version with other levels of features.

    Where metadata.version alone is given, the other features have the levels of a cluster that is formatted with it.

    Args:
        version: The version with the features of a new cluster.
        values: By Kafka's names; other settings than features are ignored.

    Raises:
        UsageError: The version does not know a feature or level, or the level needs a newer metadata.version.
    """
    asked = {name: values[name] for name in FEATURE_NAMES if name in values}
    if not asked:
        return version
    if version.controller is ControllerKind.ZOOKEEPER:
        told = f"{version.name} is in ZooKeeper mode here, which has no features"
        raise UsageError(f"{next(iter(asked))} cannot be set", told, "take a KRaft version")
    metadata = _metadata_level(version, asked.get(METADATA_VERSION))
    levels = {
        name: _level(version, name, asked[name], metadata) if name in asked else feature.level_of_new_cluster(metadata)
        for name, feature in FEATURES.items()
        if name in asked or feature.since <= version.number
    }
    return _changed(version, metadata, levels)


def _newest_metadata(version: Version) -> int:
    level = metadata_version_level(metadata_version_names(version.number)[-1])
    assert level is not None
    return level


def _metadata_level(version: Version, value: Value | None) -> int:
    if value is None:
        return _newest_metadata(version)
    known = metadata_version_names(version.number)
    known = known[known.index(OLDEST_METADATA) :]
    level = metadata_version_level(str(value))
    if level is None or not metadata_version_level(known[0]) <= level <= metadata_version_level(known[-1]):  # type: ignore[operator]
        told = f"{version.name} is played with {known[0]} to {known[-1]}"
        raise UsageError(f"{METADATA_VERSION}={value} cannot be set", told, nearest_or_known(str(value), known))
    return level


def _level(version: Version, name: str, value: Value, metadata: int) -> int:
    feature = FEATURES[name]
    if feature.since > version.number:
        told = f"{version.name} does not know it; it is there from {'.'.join(map(str, feature.since))} on"
        raise UsageError(f"{name} cannot be set", told)
    assert isinstance(value, int), name
    if value >= len(feature.from_metadata):
        levels = " or ".join(map(str, range(len(feature.from_metadata))))
        raise UsageError(f"{name}={value} cannot be set", "there is no such level", f"give {levels}")
    needed = feature.needs.get(value, OLDEST_METADATA)
    if metadata < (metadata_version_level(needed) or 0):
        raise UsageError(f"{name}={value} cannot be set", f"it needs {METADATA_VERSION} {needed} or newer")
    return value


def _changed(version: Version, metadata: int, levels: Mapping[str, int]) -> Version:
    """A version with the effects of its levels."""

    def at_least(name: str) -> bool:
        return metadata >= (metadata_version_level(name) or 0)

    changed = replace(
        version,
        epoch_rises_on_shrink=not at_least("3.6-IV0"),  # isLeaderEpochBumpRequiredOnIsrShrink
        broker_epoch_in_isr=version.broker_epoch_in_isr and at_least("3.5-IV1"),  # the replica epoch in Fetch
        failed_directories_told=version.failed_directories_told and at_least("3.7-IV2"),  # JBOD in KRaft
    )
    if not levels:
        return changed
    return replace(
        changed,
        elr=levels[ELR_FEATURE] >= 1,
        transaction_version=max(levels[TRANSACTION_VERSION], 1),  # level 1 changes how states are written, no decision
        group_version=levels[GROUP_VERSION],
    )
