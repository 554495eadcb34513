"""Each rule that changed with a release of Kafka, and what holds the engine to it on both sides of that release.

``boundaries`` reads them from the changes of the engine's versions. Each is held by answers of Kafka's own classes
(``golden_tables.HELD``), by a row on real brokers of both releases (``ROWS``), by a scenario that comes out otherwise
without the change (``PLAYED``), or by Kafka's source alone (``SOURCE``).
``python tests/support/releases/boundaries.py`` looks for such scenarios, for some minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from unittest.mock import patch

from kreplica.engine.versions.changes import CHANGES, OLDEST
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import ControllerKind, Version
from kreplica.scenarios import Case, Scenario, scenario_named, scenarios
from kreplica.scenarios.playing import play


@dataclass(frozen=True, slots=True)
class Boundary:
    """A rule that changed with a release.

    Args:
        field: Of ``Version``.
        since: The first release with the new value.
        only: The mode it changed for; None for both.
        before, after: Its values.
    """

    field: str
    since: str
    only: ControllerKind | None
    before: object
    after: object

    @property
    def key(self) -> str:
        """Its name in the tables."""
        return f"{self.field} {self.since}" + (" KRaft" if self.only else "")

    def is_reached(self, version: Version) -> bool:
        """True if a version has the new value, not one that came later."""
        in_mode = self.only is None or self.only is version.controller
        number = tuple(map(int, self.since.split(".")))
        return in_mode and version.number >= number and getattr(version, self.field) == self.after


def boundaries() -> list[Boundary]:
    """All of them, oldest first; what a change leaves as it was is none."""
    found = []
    for place, change in enumerate(CHANGES):
        for field, after in change.rules.items():
            before: object = getattr(OLDEST, field)
            for earlier in CHANGES[:place]:
                if change.only is None or earlier.only in (None, change.only):
                    before = earlier.rules.get(field, before)
            if before != after:
                found.append(Boundary(field, ".".join(map(str, change.since)), change.only, before, after))
    return found


def comes_out_otherwise(boundary: Boundary, scenario: Scenario, case: Case) -> bool:
    """True if a case does not come out as it says once the version has the old value."""
    old = replace(version_named(case.version), **{boundary.field: boundary.before})
    with patch("kreplica.scenarios.playing.version_named", return_value=old):
        return bool(play(scenario, case.version, case.settings).differences)


def cases_of(boundary: Boundary, named: str) -> Iterator[tuple[Scenario, Case]]:
    """Cases of a scenario under a version, ``NAME VERSION``, with the new value."""
    name, version = named.split()
    scenario = scenario_named(name)
    for case in scenario.cases:
        if case.version == version and boundary.is_reached(version_named(version)):
            yield scenario, case


def played(boundary: Boundary) -> str:
    """The first scenario that notices, and its version; empty if none does."""
    for scenario in scenarios():
        for case in scenario.cases:
            if boundary.is_reached(version_named(case.version)) and comes_out_otherwise(boundary, scenario, case):
                return f"{scenario.name} {case.version}"
    return ""


PLAYED = {
    "position_before_read 0.8.2": "one-round-of-fetch 0.8.2",
    "epochs_followed_on 0.8.2": "counterexample 0.8.2",
    "lag_by_messages 0.9": "lag-max-messages 0.9",
    "begins_anew 0.10.2": "stale-fenced-answer 2.1",
    "looks_twice 0.10.2": "pauses-20-31-46 0.10.2",
    "waits_for_joining 0.10.2": "caught-up-holds-hw 0.10.2",
    "truncation 0.11": "hw-truncation-loss 0.11",
    "idempotence 0.11": "inflight-reorder 1.1",
    "recovered_point 1.0": "recovered-and-not-flushed 1.0",
    "fails_oldest_first 2.0": "broken-connection 2.0",
    "truncation 2.0": "fast-failover-divergence 2.0",
    "join_at_epoch_start 2.0.1": "premature-isr-join 2.0.1",
    "epochs_followed_on 2.1": "stale-fenced-answer 2.1.1",
    "fenced_fetch 2.1": "stale-fenced-answer 2.1",
    "offsets_expire_with_group 2.1": "silent-topic-offsets 2.1",
    "stale_epoch_ends_dropped 2.1.1": "stale-leader-truncation 2.1.1",
    "bounces_are_seen 2.2": "follower-read-monotonic 2.5",
    "consumer_detects_truncation 2.3": "consumer-truncation-detect 2.3",
    "follower_reads 2.4": "follower-read-monotonic 2.5",
    "high_watermark_wakes_followers 2.4": "four-occasions 2.4",
    "markers_keep_producer 2.4.1": "early-producer-expiry 2.4.1",
    "stable_offsets 2.5": "zombie-transaction 2.5",
    "unknown_producer 2.5": "idempotent-first-batch-lost 2.5",
    "raises_own_epoch 2.5": "late-batch-next-transaction 3.6",
    "high_watermark_wakes_followers 2.6": "four-occasions 2.6",
    "alter_partition 2.7": "rebooted-follower 2.7",
    "fenced_is_final 2.7": "transaction-timeout 4.1",
    "recovered_point 2.8": "recovered-and-not-flushed 2.8",
    "epoch_rises_on_shrink 3.3 KRaft": "four-occasions 3.3-kraft",
    "unclean_setting_obeyed 3.3 KRaft": "min-isr-1-acks-all 3.3-kraft",
    "broker_epoch_in_isr 3.5 KRaft": "rebooted-follower 3.5-kraft",
    "verify_transactions 3.6": "hanging-transaction 3.6",
    "epoch_rises_on_shrink 3.6 KRaft": "four-occasions 3.6-kraft",
    "freeze_below_min_isr 3.7": "after-append 3.7",
    "unclean_setting_obeyed 3.9 KRaft": "min-isr-1-acks-all 3.9-kraft",
    "transaction_version 4.0": "hanging-transaction 4.0",
    "single_epoch_rise 4.0.1": "transaction-timeout 4.1",
    "elr 4.1": "last-replica-standing 4.3",
    "strict_markers 4.2": "delayed-marker 4.2",
    "assigned_keep_elr 4.3": "last-replica-standing 4.3",
}
"""Scenario and version that come out otherwise with the value from before."""

ROWS = {
    "exit_hangs 0.11": "leader-lost-its-log",
    "truncation_needs_unclean 2.0.1": "leader-lost-its-log",
    "epochs_followed_on 2.0.1": "missed-epoch",
    "epochs_followed_on 2.1": "same-leader-next-epoch",
    "diverging_position_noted 2.8.1": "diverging-position",
    "assigned_keep_elr 4.3": "new-disk-beside-eligible",
}
"""Rows of ``make conformance-old`` that are played on brokers of both sides."""

SOURCE: dict[str, str] = dict.fromkeys(
    ("resends 3.9.2 KRaft", "resends 4.0 KRaft", "resends 4.0.1 KRaft"),
    "`kafka.server.BrokerLifecycleManager.scheduleNextCommunicationAfterFailure`, `resendExponentialBackoff`",
)
"""What nothing else holds: where it is read in Kafka."""


if __name__ == "__main__":
    for one in boundaries():
        print(f'    "{one.key}": "{played(one)}",')
