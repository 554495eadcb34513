"""Two rows of conformance, one in each mode; ``make conformance`` plays all of them."""

from __future__ import annotations

import pytest
from conformance.play import play
from conformance.rows import BY_NAME

from kreplica.sandbox import Sandbox

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


def test_a_follower_that_stands_still_in_kraft_mode(kraft_cluster: Sandbox) -> None:
    result = play(kraft_cluster, BY_NAME["follower-paused-past-session"], "conformance")
    assert result.holds, str(result)


def test_a_leader_that_is_moved_in_zookeeper_mode(zookeeper_cluster: Sandbox) -> None:
    result = play(zookeeper_cluster, BY_NAME["leader-moved"], "conformance")
    assert result.holds, str(result)
