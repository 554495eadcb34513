"""Rules over integers stay in the subset that numba compiles, and compiled they answer what they answer plain."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import EnumType
from random import Random
from types import ModuleType
from typing import Any, get_type_hints

import numpy as np
import pytest
from numba import types
from numba.typed import List

from kreplica.engine.explorer.compiled.compiler import Compiler
from kreplica.engine.rules import rule_module

COMPILED = {
    "acknowledgement": "append_error completion_error waits_for_followers",
    "alter_partition": "answer_to_change expanded_isr ineligible_replicas kraft_alter_partition_error leader_reaction"
    " leader_takes_answer maximal_isr stays_pending zookeeper_alter_partition_error",
    "balance": "kraft_passes zookeeper_balances",
    "broker_failure": "told_of_change zookeeper_brokers_fail zookeeper_remove_from_isr_until_1_0",
    "broker_registration": "heartbeat_wait next_state registration_refused resend_wait session_expired"
    " session_stands shut_down_uncleanly stale_broker tracker_place",
    "controlled_shutdown": "kraft_broker_stops kraft_looks_at zookeeper_broker_failure zookeeper_controlled_shutdown",
    "controller_election": "controller_epoch is_own_election stale_controller state_written_by_newer"
    " watches_by_controller watches_by_replicas",
    "durability": "flush_is_due flush_is_overdue flushed_after_start recovered_end_offset recovered_high_watermark"
    " recovery_begins recovery_point_after_start flush_does_something",
    "elections": "eligible_leaders kraft_elect kraft_elect_preferred kraft_last_known_leader leader_obstacle"
    " only_last_leader_is_known zookeeper_elect_controlled_shutdown zookeeper_elect_offline zookeeper_elect_preferred"
    " zookeeper_first_in_isr zookeeper_leader_for_offline",
    "fetching": "answer_counts consumer_fetch_waits diverges follower_fetch_waits is_out_of_range leader_epoch_error"
    " out_of_range_end out_of_range_halts position_after_error processes_partition_data readable_end stops_fetching"
    " updates_follower_fetch_state",
    "follower_lag": "in_sync_by_time in_sync_by_time_or_messages is_caught_up is_stuck lags_by_messages"
    " last_caught_up_after_fetch last_caught_up_in_new_epoch may_join_isr time_between_looks",
    "follower_reads": "goes_to_leader out_of_range_resets preferred_read_replica preferred_read_replica_expired"
    " readable_replicas readable_until",
    "high_watermark": "delete_records_error delete_records_waits effective_min_isr follower_high_watermark"
    " high_watermark_stands_still leader_high_watermark low_watermark replicas_that_hold_it",
    "isr": "kraft_change kraft_eligible_leader_replicas kraft_isr_of_elected kraft_last_known_elr"
    " last_known_elr_until_4_1_0 zookeeper_remove_from_isr",
    "last_stable_offset": "last_stable_offset",
    "leader_and_isr": "keeps_positions makes_follower takes_leader takes_state",
    "leader_epoch_bump": "kraft_leader_epoch partition_epoch zookeeper_leader_epoch",
    "leader_epoch_cache": "assign_epoch assign_epoch_until_2_0 first_at_or_above"
    " truncate_epochs_from_end truncate_epochs_from_start",
    "log_directory": "broker_stops",
    "log_truncation": "epoch_end_offset epoch_end_offset_until_2_0 truncate_by_leader_epoch truncate_to_high_watermark"
    " truncation_by_end_offset truncation_round truncation_round_until_2_0",
    "member_heartbeats": "names_assignment names_partitions",
    "producer_batches": "batch_is_full delivery_is_over is_sent_again may_send",
    "producer_state": "duplicate_offset in_sequence producer_epoch_error producer_expired sequence_after"
    " sequence_error",
    "quorum": "copies_needed grants_vote has_majority log_is_up_to_date quorum_commit_latency quorum_high_watermark"
    " quorum_leader resigns_without_fetches",
    "reassignment": "completed completes kraft_cancelled zookeeper_elect_reassigned zookeeper_move_is_fixed",
    "replica_set": "contains everybody first members only size without",
    "unclean_election": "kraft_rechecks recovering_after zookeeper_reacts_to_setting",
    "zookeeper_isr": "conditional_write propagates",
    "zookeeper_session": "session_is_over",
}
"""The rules that whoever searches states compiles."""

WIDER = {
    "broker_failure": "brokers_changed failed_partitions",
    "last_stable_offset": "first_unstable_offset still_unreplicated transaction_index_lso",
    "producer_state": "after_data after_marker last_sequence only_last_batch",
    "reassignment": "kraft_merged original zookeeper_dropped zookeeper_merged zookeeper_missing",
}
"""Of the same modules: over brokers, assignments and what a replica remembers, for simulator and snapshots alone."""

CASES = 40
REPLICAS = 4
COMPILER = Compiler()


def module_of(name: str) -> ModuleType:
    return rule_module(name)


def a_value(kind: object, name: str, chance: Random) -> Any:
    """An argument of the annotated kind; a place of a replica may be NO_LEADER, an epoch or offset unknown."""
    if kind is bool:
        return chance.random() < 0.5
    if kind is int:
        unknown = any(word in name for word in ("leader", "replica", "epoch", "end", "offset", "elected"))
        return chance.randint(-1 if unknown and not name.endswith("replicas") else 0, REPLICAS - 1)
    if isinstance(kind, EnumType):
        return chance.choice(list(kind))
    if name == "batches":
        return [(at, at + 1, 10 + at) for at in range(chance.randint(0, 3))]
    return sorted(chance.sample(range(3 * REPLICAS), REPLICAS))


def arguments(rule: Callable[..., Any], chance: Random) -> list[Any]:
    hints = get_type_hints(rule)
    return [a_value(hints[name], name, chance) for name in inspect.signature(rule).parameters]


def for_numba(value: Any, in_place: bool) -> Any:
    """A list as it compiles: an array, or where the rule changes it a list of integers."""
    if not isinstance(value, list):
        return value
    if value and not isinstance(value[0], tuple) and not in_place:
        return np.array(value, dtype=np.int64)
    kind = types.int64 if in_place else types.UniTuple(types.int64, 3)
    given = List.empty_list(kind)
    for one in value:
        given.append(one)
    return given


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in COMPILED.items() for name in names.split()]
)
def test_a_rule_compiles_and_answers_the_same(module: str, name: str) -> None:
    rule = getattr(module_of(module), name)
    compiled, in_place = COMPILER.kept(rule), get_type_hints(rule)["return"] is type(None)
    for seed in range(CASES):
        plain = arguments(rule, Random(f"{name} {seed}"))
        given = [for_numba(value, in_place) for value in plain]
        found, expected = compiled(*given), rule(*plain)
        assert found == expected, (seed, plain)
        if in_place:
            assert [list(value) for value in given if isinstance(value, List)] == [
                value for value in plain if isinstance(value, list)
            ], seed


@pytest.mark.parametrize("module", COMPILED)
def test_every_rule_of_these_modules_is_listed(module: str) -> None:
    listed = {*COMPILED[module].split(), *WIDER.get(module, "").split()}
    found = inspect.getmembers(module_of(module), inspect.isfunction)
    here = {name for name, rule in found if rule.__module__ == module_of(module).__name__ and name[0] != "_"}
    assert here == listed
