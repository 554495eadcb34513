"""The release of the controllers that wrote a metadata log, and the rules that it had.

A log has the level of metadata.version, which an upgraded cluster may keep for years. When nodes register, they say
which levels they know: the highest names their release. Where nobody registers, it is that of the level itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kreplica.engine.versions.features import FEATURES, OLDEST_METADATA, with_features
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import ControllerKind, Version
from kreplica.errors import InputError, UsageError
from kreplica.formats.metadata_log.image import MetadataImage
from kreplica.formats.metadata_log.log import MetadataEntry
from kreplica.formats.segments.control_records import LEADER_CHANGE
from kreplica.model.metadata_versions import metadata_version_level, metadata_version_name, metadata_version_names
from kreplica.model.settings import METADATA_VERSION


@dataclass(slots=True)
class Releases:
    """Releases of nodes, as they have told them.

    Args:
        source: The log, for messages.
        given: The release that was named by a user; None to find it.
    """

    source: str
    given: str | None = None
    _levels: dict[int, int] = field(default_factory=dict)
    _leader: int | None = None
    _known: dict[tuple[str, tuple[tuple[str, int], ...]], Version] = field(default_factory=dict)

    def take(self, entry: MetadataEntry, image: MetadataImage) -> None:
        """Takes what an entry says of a node."""
        data = entry.record.data
        if entry.record.type == LEADER_CHANGE:
            self._leader = image.leader
        if data is None or entry.record.type not in ("REGISTER_BROKER_RECORD", "REGISTER_CONTROLLER_RECORD"):
            return
        node = data.get("controllerId", data.get("brokerId"))
        for feature in data["features"]:
            if feature["name"] == METADATA_VERSION:
                self._levels[node] = feature["maxSupportedVersion"]

    def version(self, image: MetadataImage) -> Version:
        """The rules of the active controller.

        Raises:
            InputError: The engine does not play that metadata.version, or no release has these features.
        """
        level = image.features.get(METADATA_VERSION)
        release = self.given or self._release(level)
        asked = image.features
        key = release, tuple((name, asked.get(name, 0)) for name in (METADATA_VERSION, *FEATURES))
        if key not in self._known:
            self._known[key] = self._read(release, level, asked)
        return self._known[key]

    def _release(self, level: int | None) -> str:
        told = self._levels.get(self._leader) if self._leader is not None else None
        highest = max([told or max(self._levels.values(), default=0), level or 0])
        name = metadata_version_name(highest)
        return (name or metadata_version_names((99,))[-1]).partition("-")[0]

    def _read(self, release: str, level: int | None, asked: Mapping[str, int]) -> Version:
        version = version_named(release)
        if version.controller is ControllerKind.ZOOKEEPER:
            version = version_named(f"{release}{KRAFT_SUFFIX}")
        if level is None:
            return version
        oldest = metadata_version_level(OLDEST_METADATA) or 0
        if level < oldest:
            reason = f"{METADATA_VERSION} {level} is older than {OLDEST_METADATA}, the oldest that the engine plays"
            raise InputError(self.source, "", reason)
        newest = metadata_version_level(metadata_version_names(version.number)[-1]) or level
        features = {name: asked.get(name, 0) for name, one in FEATURES.items() if one.since <= version.number}
        try:
            return with_features(version, {METADATA_VERSION: str(min(level, newest)), **features})
        except UsageError:
            named = ", ".join(f"{name} {each}" for name, each in features.items())
            reason = f"{version.name} has no cluster with {METADATA_VERSION} {level}, {named}"
            raise InputError(self.source, "", reason) from None


KRAFT_SUFFIX = "-kraft"
"""Ending of the names of KRaft versions in the years with both modes."""
