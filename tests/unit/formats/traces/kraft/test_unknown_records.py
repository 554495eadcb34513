"""Records that no known release writes: a log with them is judged as far as it goes, or said to be none."""

from __future__ import annotations

import pytest

from kreplica.errors import InputError
from kreplica.formats.metadata_log.image import MetadataImage
from kreplica.formats.metadata_log.log import MetadataEntry
from kreplica.formats.metadata_log.records import MetadataRecord
from kreplica.formats.traces.kraft.releases import Releases
from kreplica.formats.traces.kraft.walk import Walk


def walked(*records: MetadataRecord) -> Walk:
    walk = Walk(MetadataImage(), Releases("a.log"))
    for offset, record in enumerate(records):
        entry = MetadataEntry(offset, 1000 + offset, 1, record)
        walk.take(entry, walk.image.apply(entry))
    walk.end()
    return walk


def test_a_setting_of_a_later_version_is_left_out() -> None:
    """A record of a version that is not known has no data."""
    assert walked(MetadataRecord("CONFIG_RECORD", 9, None)).rows == []


def test_a_feature_level_that_no_release_has_is_named() -> None:
    levels = {"metadata.version": 25, "eligible.leader.replicas.version": 76}
    records = [MetadataRecord("FEATURE_LEVEL_RECORD", 0, {"name": one, "featureLevel": levels[one]}) for one in levels]
    with pytest.raises(InputError, match=r"has no cluster with metadata.version 25, eligible.*76"):
        walked(*records, MetadataRecord("NO_OP_RECORD", 0, {}))
