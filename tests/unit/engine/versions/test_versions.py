"""Versions: every rule from the release that brought it on, in the mode it is for, whatever is listed beside it."""

from __future__ import annotations

import pytest

from kreplica.engine.rules.controller.reassignment import Awaited
from kreplica.engine.versions.supported import LATEST, VERSIONS, ControllerKind, Truncation, order_of, version_named
from kreplica.errors import UsageError
from kreplica.model.settings import UNCLEAN

# The last release without and the first release with the commit, by the tags of apache/kafka.
RULES = [
    ("position_before_read", "0.8.1", "0.8.2"),
    ("offline_by_isr_order", "0.8.1", "0.8.2"),
    ("shutdown_by_isr_order", "0.9.0.1", "0.10.0"),
    ("dead_leaders_ignored", "0.8.1", "0.8.2"),
    ("epochs_followed_on", "0.8.1", "0.8.2"),
    ("truncation_needs_unclean", "0.8.1", "0.8.2"),
    ("lag_by_messages", "0.8.2", "0.9"),
    ("positions_outlive_leaders", "0.8.2", "0.9"),
    ("halts_by_exit", "0.10.0.0", "0.10.0.1"),
    ("exit_hangs", "0.10.0.0", "0.10.0.1"),
    ("exit_hangs", "0.10.2", "0.11"),
    ("begins_anew", "0.10.1", "0.10.2"),
    ("looks_twice", "0.10.1", "0.10.2"),
    ("waits_for_joining", "0.10.1", "0.10.2"),
    ("idempotence", "0.10.2", "0.11"),
    ("deletes_records", "0.10.2", "0.11"),
    ("cached_batches", "0.11", "1.0"),
    ("failed_directories_tolerated", "0.11", "1.0"),
    ("keeps_last_in_sync", "1.0", "1.1"),
    ("truncation", "1.1", "2.0"),
    ("join_at_epoch_start", "2.0", "2.0.1"),
    ("epochs_followed_on", "2.0", "2.0.1"),
    ("truncation_needs_unclean", "2.0", "2.0.1"),
    ("epochs_followed_on", "2.0.1", "2.1"),
    ("truncation", "2.0.1", "2.1"),
    ("end_suffices", "2.0.1", "2.1"),
    ("fenced_fetch", "2.0.1", "2.1"),
    ("controller_epoch_checked", "2.0.1", "2.1"),
    ("stale_epoch_ends_dropped", "2.1", "2.1.1"),
    ("bounces_are_seen", "2.1.1", "2.2"),
    ("member_id_required", "2.1.1", "2.2"),
    ("latest_waits_for_epoch", "2.1.1", "2.2"),
    ("consumer_detects_truncation", "2.2.2", "2.3"),
    ("errors_forget_position", "0.8.1", "0.8.2"),
    ("errors_forget_position", "2.3.1", "2.4"),
    ("failover_cleans_isrs", "2.2.2", "2.3"),
    ("follower_reads", "2.3.1", "2.4"),
    ("unknown_producer", "2.0", "2.0.1"),
    ("markers_keep_producer", "2.4", "2.4.1"),
    ("stable_offsets", "2.4.1", "2.5"),
    ("alter_partition", "2.6.3", "2.7"),
    ("truncate_on_fetch", "2.7.2", "2.8"),
    ("diverging_position_noted", "2.6.3", "2.7"),
    ("diverging_position_noted", "2.7", "2.7.2"),
    ("diverging_position_noted", "2.7.2", "2.8"),
    ("diverging_position_noted", "2.8", "2.8.1"),
    ("watermark_before_cut", "2.7.2", "2.8"),
    ("watermark_before_cut", "3.4", "3.4.1"),
    ("watermark_before_cut", "3.4-kraft", "3.4.1-kraft"),
    ("redirects_at_once", "3.1.2", "3.2"),
    ("ineligible_refused", "3.2.3", "3.3"),
    ("reads_in_sync_only", "3.3.1", "3.3.2"),
    ("errors_lead_to_leader", "3.3.1", "3.3.2"),
    ("balances_while_moving", "3.3.2", "3.4"),
    ("balances_while_moving", "3.3.2-kraft", "3.4-kraft"),
    ("broker_epoch_in_isr", "3.4.1-kraft", "3.5-kraft"),
    ("epoch_rises_on_shrink", "3.5.2-kraft", "3.6-kraft"),
    ("verify_transactions", "3.5.2", "3.6"),
    ("verify_transactions", "3.5.2-kraft", "3.6-kraft"),
    ("freeze_below_min_isr", "3.6.2-kraft", "3.7-kraft"),
    ("failed_directories_told", "0.11", "1.0"),
    ("failed_directories_told", "3.6.2-kraft", "3.7-kraft"),
    ("moves_must_live", "0.10.0", "0.10.1"),
    ("moves_can_change", "2.3.1", "2.4"),
    ("moves_must_live", "2.3.1", "2.4"),
    ("moves_wait_for", "3.7.2-kraft", "3.8-kraft"),
    ("moves_wait_for", "4.2", "4.3"),
    ("assigned_keep_elr", "4.2", "4.3"),
    ("unclean_setting_obeyed", "3.8.1-kraft", "3.9-kraft"),
    ("strict_markers", "4.1.1", "4.2"),
    ("groups_begin_at_epoch", "4.2", "4.3"),
    ("assignment_epochs", "4.2", "4.3"),
    ("waits_only_for_eligible", "3.5.2", "3.6"),
    ("transaction_version", "3.9.1-kraft", "4.0"),
    ("more_stays", "4.0", "4.0.1"),
    ("members_rejoin", "4.1", "4.2"),
    ("single_epoch_rise", "4.0", "4.0.1"),
    ("fence_rotates", "4.2", "4.3"),
    # by the release that the KIP names
    ("fails_oldest_first", "1.1.1", "2.0"),  # InFlightRequests.clearAll of both releases
    ("offsets_expire_with_group", "2.0.1", "2.1"),  # KIP-211
    ("raises_own_epoch", "2.4.1", "2.5"),  # KIP-360
    ("fenced_is_final", "2.6.3", "2.7"),  # KIP-588
    ("tells_abortable", "3.7.2", "3.8"),  # KIP-890
    ("consumer_protocol", "3.9.1-kraft", "4.0"),  # KIP-848
    ("resets_by_duration", "3.9.1-kraft", "4.0"),  # KIP-1106
    ("elr", "4.0.1", "4.1"),  # KIP-966: on by default in new clusters
]
DEFAULTS = [
    ("max.poll.interval.ms", "0.10.0", "0.10.1"),
    (UNCLEAN, "0.10.2", "0.11"),
    ("offsets.retention.minutes", "1.1", "2.0"),
    ("delivery.timeout.ms", "2.0.1", "2.1"),
    ("replica.lag.time.max.ms", "2.4.1", "2.5"),
    ("acks", "2.8.2", "3.0"),
    ("producer.id.expiration.ms", "3.3.2-kraft", "3.4-kraft"),
    ("transaction.partition.verification.enable", "3.5", "3.6"),
    ("group.consumer.assignment.interval.ms", "4.2", "4.3"),
]


@pytest.mark.parametrize(("rule", "before", "since"), RULES)
def test_a_rule_holds_from_its_own_release_on(rule: str, before: str, since: str) -> None:
    assert getattr(version_named(before), rule) != getattr(version_named(since), rule)


@pytest.mark.parametrize(("setting", "before", "since"), DEFAULTS)
def test_a_default_holds_from_its_own_release_on(setting: str, before: str, since: str) -> None:
    assert version_named(before).defaults[setting] != version_named(since).defaults[setting]


def test_zookeeper_mode_never_gets_what_is_for_kraft() -> None:
    newest = version_named("3.9.2")
    assert newest.controller is ControllerKind.ZOOKEEPER
    assert not newest.broker_epoch_in_isr
    assert newest.moves_wait_for is Awaited.TARGET
    assert version_named("3.3").failed_directories_told


def test_a_release_between_two_listed_ones_has_its_name_and_its_place() -> None:
    between = version_named("2.8.1")
    assert between.name == "2.8.1"
    assert between.truncation is Truncation.KIP_320
    assert order_of(version_named("2.7")) < order_of(between) < order_of(version_named("3.0"))
    assert order_of(version_named("3.9")) < order_of(version_named("3.9-kraft")) < order_of(version_named("4.0"))


def test_the_listed_ones_are_in_order_and_found_by_their_names() -> None:
    assert [version_named(version.name) for version in VERSIONS] == list(VERSIONS)
    assert list(map(order_of, VERSIONS)) == sorted(map(order_of, VERSIONS))
    assert version_named("0.10").number == (0, 10, 2)


@pytest.mark.parametrize("name", ["4.0-kraft", "4.0"])
def test_from_4_0_on_there_is_kraft_alone(name: str) -> None:
    assert (version_named(name).name, version_named(name).controller) == ("4.0", ControllerKind.KRAFT)


def test_what_is_newer_than_the_newest_follows_it() -> None:
    assert version_named("5.1") == LATEST


@pytest.mark.parametrize("name", ["", "kraft", "0.7", "0.8.0", "2.8-kraft", "3.9-zookeeper", "1.x", "-1.0", "²"])
def test_what_is_no_version_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="no version of Kafka"):
        version_named(name)
