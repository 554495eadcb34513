"""The index of ELRs once they were cleared, and directories that are assigned, as Kafka's controllers have them."""

from __future__ import annotations

import pytest
from engine.asked_controllers import Played, in_order
from releases.kafka_classes import answers

from kreplica.engine import version_named


@pytest.mark.parametrize(("release", "lines"), answers("stale-elrs.txt"))
def test_cleared_elrs_stay_in_the_index_as_in_kafkas_controllers(release: str, lines: list[str]) -> None:
    version, controller = version_named(".".join(release.split(".")[:2])), None
    twice = ended = 0
    for line in lines:
        _, facts, asked, after = (word.strip() for word in line.split("|", 3))
        if asked == "start":
            controller = Played(version, after.partition(" | ")[0])
            continue
        assert controller is not None
        earlier = controller.told()
        controller.does(facts, asked)
        assert controller.told() == in_order(after), line
        twice += asked.startswith("restart") and _rises(earlier, after) == {2}
        ended += asked.startswith("assign") and "- -" not in earlier[:12] and "- -" in after[:12]
    assert twice > 0, "changes that are written twice"
    assert ended > 0, "moves that end when a directory is assigned"


def _rises(earlier: str, later: str) -> set[int]:
    """Rises of partition epochs."""
    first, second = (
        [int(state.split()[-1]) for state in told.partition(" | ")[0].split(" ; ")] for told in (earlier, later)
    )
    return {after - before for before, after in zip(first, second, strict=True)} - {0}
