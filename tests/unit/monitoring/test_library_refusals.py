"""Calls that the command line refuses before it asks the library: the library refuses them, too."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kreplica.config.handle import ClusterHandle
from kreplica.errors import UnreachableError, UsageError
from kreplica.health.impact.whatif import FailureCase
from kreplica.health.wait_conditions import Goal
from kreplica.monitoring.checking import check
from kreplica.monitoring.clusters import read_clusters
from kreplica.monitoring.failure import whatif_fail
from kreplica.monitoring.lag.measuring import require_live
from kreplica.monitoring.waiting.in_sync import wait
from kreplica.monitoring.waiting.stop_gate import safe_to_stop
from kreplica.sources import Facet

SAMPLE = ClusterHandle("sample", dump="sample")


@pytest.mark.parametrize(
    "call",
    [
        lambda: safe_to_stop(SAMPLE),
        lambda: wait(SAMPLE, Goal.IN_SYNC),
        lambda: whatif_fail(SAMPLE, FailureCase()),
    ],
    ids=["no broker to stop", "no broker to wait for", "nothing that fails"],
)
def test_a_call_that_asks_nothing_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"broker|nothing"):
        call()


def test_a_rule_that_is_not_there_passes_no_gate() -> None:
    with pytest.raises(UsageError) as told:
        check([SAMPLE], ["rf-one", "rf-two"])
    assert told.value.what == "no rule rf-two"
    assert check([SAMPLE], ["rf-one"]).exit_code == check([SAMPLE]).exit_code == 1


def test_a_dump_is_read_once_however_long_it_may_be_waited_for() -> None:
    assert safe_to_stop(SAMPLE, [2], wait=3600).before is None
    assert wait(SAMPLE, Goal.NO_UNDER_REPLICATED, timeout=3600).waited is None


def test_a_dump_cannot_be_measured() -> None:
    with pytest.raises(UsageError, match="sample cannot be measured"):
        require_live([SAMPLE])


def test_remarks_on_settings_are_notes_of_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise UnreachableError("nobody answers")

    monkeypatch.setattr("kreplica.monitoring.clusters.read_snapshot", refuse)
    handle = ClusterHandle("test", "127.0.0.1:1", warnings=("ssl.protocol has no effect",))
    with pytest.raises(UnreachableError) as told:
        read_clusters([handle], Facet.PARTITIONS)
    assert told.value.__notes__ == ["ssl.protocol has no effect"]
