"""Leader epochs of logs, and where they end: equal to what Kafka's own class says, release by release."""

from __future__ import annotations

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.replication.leader_epoch_cache import (
    truncate_epochs_from_end,
    truncate_epochs_from_start,
)
from kreplica.engine.rules.replication.log_truncation import epoch_end_offset, epoch_end_offset_until_2_0
from kreplica.engine.simulator.broker.log import Log
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import Version

RELEASES = answers("leader-epochs.txt")


def done(line: str) -> list[tuple[str, str, str]]:
    """What is done to a log, with what, and the entries after it."""
    steps = [step.partition("=") for step in line.partition(" | ")[0].split()]
    return [(*what.split(":"), entries) for what, _, entries in steps]  # type: ignore[misc]


def entries(epochs: list[int], starts: list[int]) -> str:
    return ",".join(f"{epoch}@{start}" for epoch, start in zip(epochs, starts, strict=True)) or "-"


def after(version: Version, line: str) -> Log:
    """The epochs of a log to which all of that is done; each step is compared."""
    log = Log(version.epoch_noted_at_election)
    for what, given, expected in done(line):
        if what == "assign":
            epoch, log.end = map(int, given.split("@"))
            log.assign_epoch(epoch)
        elif what == "end":
            truncate_epochs_from_end(log.epochs, log.starts, int(given))
        else:
            truncate_epochs_from_start(log.epochs, log.starts, int(given))
        assert entries(log.epochs, log.starts) == expected, (what, given, line)
    return log


@pytest.mark.parametrize(("release", "lines"), RELEASES)
def test_epochs_and_their_ends_are_those_of_kafkas_cache(release: str, lines: list[str]) -> None:
    """LeaderEpochFileCache: entries after each step, then the ends of epochs -1 to 8 of a log with that end."""
    version = version_named(release)
    end_of = epoch_end_offset if version.epoch_noted_at_election else epoch_end_offset_until_2_0
    for line in lines:
        log = after(version, line)
        end, *told = line.partition(" | ")[2].split()
        for epoch, expected in enumerate(told, -1):
            found = end_of(log.epochs, log.starts, int(end), epoch)
            known = ":".join(map(str, found)) if ":" in expected else str(found[1])
            assert known == expected, (epoch, line)
    assert len(lines) == 60
