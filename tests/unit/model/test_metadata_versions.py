"""Levels of metadata.version, beside what kafka-features version-mapping of Kafka 4.3.1 prints."""

from __future__ import annotations

from kreplica.model.metadata_versions import metadata_version_name

PRINTED = """
7 (3.3-IV3) 8 (3.4-IV0) 9 (3.5-IV0) 10 (3.5-IV1) 11 (3.5-IV2) 12 (3.6-IV0) 13 (3.6-IV1) 14 (3.6-IV2) 15 (3.7-IV0)
16 (3.7-IV1) 17 (3.7-IV2) 18 (3.7-IV3) 19 (3.7-IV4) 20 (3.8-IV0) 21 (3.9-IV0) 22 (4.0-IV0) 23 (4.0-IV1) 24 (4.0-IV2)
25 (4.0-IV3) 26 (4.1-IV0) 27 (4.1-IV1) 28 (4.2-IV0) 29 (4.2-IV1) 30 (4.3-IV0)
"""


def test_names_are_those_that_kafka_prints() -> None:
    words = PRINTED.split()
    told = {int(level): name.strip("()") for level, name in zip(words[::2], words[1::2], strict=True)}
    assert {level: metadata_version_name(level) for level in told} == told
    assert len(told) == 24


def test_other_levels_have_no_name() -> None:
    assert [metadata_version_name(level) for level in (-1, 0, 3, 31)] == [None] * 4
