"""Offsets at which followers cut their logs by a leader's answer: those of Kafka's own fetcher, release by release."""

from __future__ import annotations

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.replication.log_truncation import (
    truncation_by_end_offset,
    truncation_round,
    truncation_round_until_2_0,
)
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import Truncation, Version

Chain = list[int]
ASKS_AGAIN = "+"


def cut(version: Version, epochs: Chain, starts: Chain, end: int, watermark: int, told: tuple[int, int]) -> str:
    """The offset at which the rules of a version cut, as the file says it."""
    answered, leader_end = told
    if version.truncation is Truncation.KIP_101:
        return str(truncation_by_end_offset(end, watermark, leader_end))
    one_round = truncation_round if version.epoch_noted_at_election else truncation_round_until_2_0
    offset, finished = one_round(epochs, starts, end, watermark, answered, leader_end)
    return f"{offset}{'' if finished else ASKS_AGAIN}"


@pytest.mark.parametrize(("release", "lines"), answers("truncations.txt"))
def test_a_log_is_cut_where_kafkas_fetcher_cuts_it(release: str, lines: list[str]) -> None:
    """ReplicaFetcherThread.maybeTruncate up to 2.0, AbstractFetcherThread.getOffsetTruncationState: any answer."""
    version, asked_again = version_named(release), False
    for line in lines:
        (entries, end, watermark), told = line.partition(" | ")[0].split(), line.partition(" | ")[2].split()
        chain = [tuple(map(int, entry.split("@"))) for entry in entries.split(",")] if entries != "-" else []
        epochs, starts = [epoch for epoch, _ in chain], [start for _, start in chain]
        for words in told:
            answer, _, expected = words.partition("=")
            epoch, leader_end = map(int, answer.split(":"))
            assert cut(version, epochs, starts, int(end), int(watermark), (epoch, leader_end)) == expected, (
                words,
                line,
            )
            asked_again = asked_again or expected.endswith(ASKS_AGAIN)
    assert asked_again is (version.truncation is not Truncation.KIP_101)
    assert len(lines) == 50
