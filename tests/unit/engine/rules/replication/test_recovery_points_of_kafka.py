"""Recovery points of logs that a broker has loaded: equal to what Kafka's own class says, release by release."""

from __future__ import annotations

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.replication.durability import recovery_point_after_start
from kreplica.engine.versions.supported import version_named

RELEASES = answers("recovery-points.txt")


@pytest.mark.parametrize(("release", "lines"), RELEASES, ids=[release for release, _ in RELEASES])
def test_a_log_is_taken_for_flushed_as_far_as_kafkas_log_has_it(release: str, lines: list[str]) -> None:
    """Log.recoverLog of a real log on disk, UnifiedLog since 3.0."""
    recovered = version_named(release).recovered_point
    for line in lines:
        records, point, clean, end, told = line.split()
        assert int(end) == int(records), line
        found = recovery_point_after_start(int(end), int(point), clean == "true", recovered)
        assert found == int(told), line
    assert len(lines) == 30


def test_the_releases_differ_where_the_rules_do() -> None:
    """Kept up to 0.11, raised from 1.0 to 2.7, kept within the log since 2.8 (KAFKA-10101)."""
    told = dict(RELEASES)
    assert told["0.10.2.2"] == told["0.11.0.3"] != told["1.1.1"] == told["2.7.0"] != told["2.8.0"] == told["4.3.1"]
    assert told["0.11.0.3"] != told["2.8.0"]
