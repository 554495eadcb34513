"""kreplica: replication of Apache Kafka clusters, seen, explained and steered.

The public interface of the library, a function for each command (docs/library.md)::

    import kreplica

    snapshot = kreplica.read_snapshot(kreplica.ClusterHandle(name="sample", dump="sample"))
    for finding in kreplica.find(snapshot):
        print(finding.severity.word, finding.rule, finding.message)

Names are loaded when they are first used, so that ``import kreplica`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from kreplica.version import __version__ as __version__

if TYPE_CHECKING:
    from kreplica.advice.advise import advise as advise
    from kreplica.advice.facts import ClusterFacts as ClusterFacts
    from kreplica.config.handle import ClusterHandle as ClusterHandle
    from kreplica.config.listing import config_init as config_init
    from kreplica.config.listing import config_list as config_list
    from kreplica.config.listing import config_show as config_show
    from kreplica.config.listing import config_use as config_use
    from kreplica.config.ways_in import resolve_handles as resolve_handles
    from kreplica.engine.explorer.listing import whatif_model as whatif_model
    from kreplica.engine.explorer.listing import whatif_models as whatif_models
    from kreplica.engine.explorer.models.asynchronous_isr.models import AsyncBounds as AsyncBounds
    from kreplica.engine.explorer.models.clients.bounds import ClientBounds as ClientBounds
    from kreplica.engine.explorer.models.coordinators.groups.state import GroupBounds as GroupBounds
    from kreplica.engine.explorer.models.coordinators.memberships.state import MembershipBounds as MembershipBounds
    from kreplica.engine.explorer.models.coordinators.transactions.state import CoordinatorBounds as CoordinatorBounds
    from kreplica.engine.explorer.models.epoch_answers.models import AnswersBounds as AnswersBounds
    from kreplica.engine.explorer.models.kraft.state import KraftBounds as KraftBounds
    from kreplica.engine.explorer.models.one_partition.state import Bounds as Bounds
    from kreplica.engine.explorer.models.quorum.state import QuorumBounds as QuorumBounds
    from kreplica.engine.explorer.models.settings.state import SettingsBounds as SettingsBounds
    from kreplica.engine.explorer.proof import whatif_prove as whatif_prove
    from kreplica.errors import KreplicaError as KreplicaError
    from kreplica.execution.executor import Pace as Pace
    from kreplica.execution.moves.rate_request import rebalance_throttle as rebalance_throttle
    from kreplica.execution.moves.throttles.leftover import rebalance_throttles as rebalance_throttles
    from kreplica.execution.rebalance.apply import rebalance_apply as rebalance_apply
    from kreplica.execution.rebalance.apply import rebalance_resume as rebalance_resume
    from kreplica.execution.rebalance.leaders import rebalance_leaders as rebalance_leaders
    from kreplica.execution.rebalance.replicas import rebalance_replicas as rebalance_replicas
    from kreplica.execution.rebalance.rollback import rebalance_rollback as rebalance_rollback
    from kreplica.execution.rebalance.running import RebalanceOptions as RebalanceOptions
    from kreplica.execution.rebalance.status import rebalance_cancel as rebalance_cancel
    from kreplica.execution.rebalance.status import rebalance_status as rebalance_status
    from kreplica.execution.rebalance.verify import rebalance_verify as rebalance_verify
    from kreplica.execution.rehearsal.rehearse import RehearseOptions as RehearseOptions
    from kreplica.execution.rehearsal.rehearse import rebalance_rehearse as rebalance_rehearse
    from kreplica.execution.roll.next_wave import roll_next as roll_next
    from kreplica.execution.roll.plan import RollOptions as RollOptions
    from kreplica.execution.roll.planning import roll_plan as roll_plan
    from kreplica.fleet.availability.resilience import resilience_in as resilience_in
    from kreplica.fleet.availability.slo import outages_in as outages_in
    from kreplica.fleet.incidents.fleet import incident_in as incident_in
    from kreplica.fleet.incidents.fleet import incidents_in as incidents_in
    from kreplica.fleet.muting import list_mutes as list_mutes
    from kreplica.fleet.muting import mute_rule as mute_rule
    from kreplica.fleet.muting import unmute_rule as unmute_rule
    from kreplica.formats.checks.directories import decode_check as decode_check
    from kreplica.formats.consumer_offsets.group_rows import group_rows as group_rows
    from kreplica.formats.consumer_offsets.reading import decode_offset_events as decode_offset_events
    from kreplica.formats.consumer_offsets.reading import decode_offsets as decode_offsets
    from kreplica.formats.log_directory.reading import decode_checkpoints as decode_checkpoints
    from kreplica.formats.logs.compared_copies import decode_compare as decode_compare
    from kreplica.formats.logs.index_rows import decode_indexes as decode_indexes
    from kreplica.formats.logs.segment_files import decode_segment as decode_segment
    from kreplica.formats.metadata_log.history import MetadataQuestion as MetadataQuestion
    from kreplica.formats.metadata_log.history import decode_metadata as decode_metadata
    from kreplica.formats.segments.as_of import AsOf as AsOf
    from kreplica.formats.traces.validation import whatif_validate as whatif_validate
    from kreplica.formats.transactions.reading import TransactionQuestion as TransactionQuestion
    from kreplica.formats.transactions.reading import decode_hanging_transactions as decode_hanging_transactions
    from kreplica.formats.transactions.reading import decode_transaction_events as decode_transaction_events
    from kreplica.formats.transactions.reading import decode_transactions as decode_transactions
    from kreplica.health.disks import disk_report as disk_report
    from kreplica.health.findings import Finding as Finding
    from kreplica.health.findings import find as find
    from kreplica.health.imbalance import imbalance_of as imbalance_of
    from kreplica.health.impact.stop import Accepted as Accepted
    from kreplica.health.impact.whatif import FailureCase as FailureCase
    from kreplica.health.listing import count_all as count_all
    from kreplica.health.listing import partition_rows as partition_rows
    from kreplica.health.wait_conditions import Goal as Goal
    from kreplica.history.lives.reading import lives_in as lives_in
    from kreplica.history.reading import History as History
    from kreplica.history.reading import open_history as open_history
    from kreplica.model.comparison import compare as compare
    from kreplica.model.predicates.evaluate import Evaluator as Evaluator
    from kreplica.model.predicates.partitions import PREDICATES as PREDICATES
    from kreplica.model.selection import select as select
    from kreplica.model.snapshot import ClusterSnapshot as ClusterSnapshot
    from kreplica.monitoring.balance import imbalance as imbalance
    from kreplica.monitoring.checking import check as check
    from kreplica.monitoring.clusters import read_clusters as read_clusters
    from kreplica.monitoring.comparison import compare_clusters as compare_clusters
    from kreplica.monitoring.context_check import config_check as config_check
    from kreplica.monitoring.description import describe as describe
    from kreplica.monitoring.disk_space import DiskLimits as DiskLimits
    from kreplica.monitoring.disk_space import disks as disks
    from kreplica.monitoring.failure import whatif_fail as whatif_fail
    from kreplica.monitoring.lag.measuring import measurable as measurable
    from kreplica.monitoring.lag.measuring import measure as measure
    from kreplica.monitoring.offsets import compare_offsets as compare_offsets
    from kreplica.monitoring.placement import assign as assign
    from kreplica.monitoring.recommendations import Clients as Clients
    from kreplica.monitoring.recommendations import recommend as recommend
    from kreplica.monitoring.snapshots.ingestion import ingest_dumps as ingest_dumps
    from kreplica.monitoring.snapshots.taking import take_snapshots as take_snapshots
    from kreplica.monitoring.waiting.in_sync import wait as wait
    from kreplica.monitoring.waiting.stop_gate import safe_to_stop as safe_to_stop
    from kreplica.planner.preferred_leaders import plan_elections as plan_elections
    from kreplica.scenarios import scenario_named as scenario_named
    from kreplica.scenarios.listing import whatif_list as whatif_list
    from kreplica.scenarios.listing import whatif_show as whatif_show
    from kreplica.scenarios.outcome_rows import compare_runs as compare_runs
    from kreplica.scenarios.outcome_rows import outcome_row as outcome_row
    from kreplica.scenarios.outcome_rows import timeline as timeline
    from kreplica.scenarios.playing import play as play
    from kreplica.sources import Facet as Facet
    from kreplica.sources import read_snapshot as read_snapshot
    from kreplica.store.writing import write_snapshot as write_snapshot


_HOMES = {
    "Accepted": "kreplica.health.impact.stop",
    "AnswersBounds": "kreplica.engine.explorer.models.epoch_answers.models",
    "AsOf": "kreplica.formats.segments.as_of",
    "AsyncBounds": "kreplica.engine.explorer.models.asynchronous_isr.models",
    "Bounds": "kreplica.engine.explorer.models.one_partition.state",
    "Clients": "kreplica.monitoring.recommendations",
    "ClusterFacts": "kreplica.advice.facts",
    "ClusterHandle": "kreplica.config.handle",
    "ClusterSnapshot": "kreplica.model.snapshot",
    "DiskLimits": "kreplica.monitoring.disk_space",
    "Evaluator": "kreplica.model.predicates.evaluate",
    "Facet": "kreplica.sources",
    "FailureCase": "kreplica.health.impact.whatif",
    "Finding": "kreplica.health.findings",
    "Goal": "kreplica.health.wait_conditions",
    "History": "kreplica.history.reading",
    "KreplicaError": "kreplica.errors",
    "MembershipBounds": "kreplica.engine.explorer.models.coordinators.memberships.state",
    "MetadataQuestion": "kreplica.formats.metadata_log.history",
    "PREDICATES": "kreplica.model.predicates.partitions",
    "Pace": "kreplica.execution.executor",
    "RebalanceOptions": "kreplica.execution.rebalance.running",
    "RehearseOptions": "kreplica.execution.rehearsal.rehearse",
    "RollOptions": "kreplica.execution.roll.plan",
    "TransactionQuestion": "kreplica.formats.transactions.reading",
    "advise": "kreplica.advice.advise",
    "assign": "kreplica.monitoring.placement",
    "check": "kreplica.monitoring.checking",
    "compare": "kreplica.model.comparison",
    "compare_clusters": "kreplica.monitoring.comparison",
    "compare_offsets": "kreplica.monitoring.offsets",
    "compare_runs": "kreplica.scenarios.outcome_rows",
    "config_check": "kreplica.monitoring.context_check",
    "config_init": "kreplica.config.listing",
    "config_list": "kreplica.config.listing",
    "config_show": "kreplica.config.listing",
    "config_use": "kreplica.config.listing",
    "ClientBounds": "kreplica.engine.explorer.models.clients.bounds",
    "CoordinatorBounds": "kreplica.engine.explorer.models.coordinators.transactions.state",
    "GroupBounds": "kreplica.engine.explorer.models.coordinators.groups.state",
    "KraftBounds": "kreplica.engine.explorer.models.kraft.state",
    "count_all": "kreplica.health.listing",
    "decode_check": "kreplica.formats.checks.directories",
    "decode_checkpoints": "kreplica.formats.log_directory.reading",
    "decode_compare": "kreplica.formats.logs.compared_copies",
    "decode_hanging_transactions": "kreplica.formats.transactions.reading",
    "decode_indexes": "kreplica.formats.logs.index_rows",
    "decode_metadata": "kreplica.formats.metadata_log.history",
    "decode_offset_events": "kreplica.formats.consumer_offsets.reading",
    "decode_offsets": "kreplica.formats.consumer_offsets.reading",
    "decode_segment": "kreplica.formats.logs.segment_files",
    "decode_transaction_events": "kreplica.formats.transactions.reading",
    "decode_transactions": "kreplica.formats.transactions.reading",
    "describe": "kreplica.monitoring.description",
    "disk_report": "kreplica.health.disks",
    "disks": "kreplica.monitoring.disk_space",
    "find": "kreplica.health.findings",
    "group_rows": "kreplica.formats.consumer_offsets.group_rows",
    "imbalance": "kreplica.monitoring.balance",
    "imbalance_of": "kreplica.health.imbalance",
    "incident_in": "kreplica.fleet.incidents.fleet",
    "incidents_in": "kreplica.fleet.incidents.fleet",
    "list_mutes": "kreplica.fleet.muting",
    "lives_in": "kreplica.history.lives.reading",
    "measurable": "kreplica.monitoring.lag.measuring",
    "measure": "kreplica.monitoring.lag.measuring",
    "outcome_row": "kreplica.scenarios.outcome_rows",
    "mute_rule": "kreplica.fleet.muting",
    "open_history": "kreplica.history.reading",
    "outages_in": "kreplica.fleet.availability.slo",
    "partition_rows": "kreplica.health.listing",
    "plan_elections": "kreplica.planner.preferred_leaders",
    "play": "kreplica.scenarios.playing",
    "read_clusters": "kreplica.monitoring.clusters",
    "read_snapshot": "kreplica.sources",
    "rebalance_apply": "kreplica.execution.rebalance.apply",
    "rebalance_cancel": "kreplica.execution.rebalance.status",
    "rebalance_leaders": "kreplica.execution.rebalance.leaders",
    "rebalance_rehearse": "kreplica.execution.rehearsal.rehearse",
    "rebalance_replicas": "kreplica.execution.rebalance.replicas",
    "rebalance_verify": "kreplica.execution.rebalance.verify",
    "rebalance_resume": "kreplica.execution.rebalance.apply",
    "rebalance_rollback": "kreplica.execution.rebalance.rollback",
    "rebalance_status": "kreplica.execution.rebalance.status",
    "rebalance_throttle": "kreplica.execution.moves.rate_request",
    "rebalance_throttles": "kreplica.execution.moves.throttles.leftover",
    "recommend": "kreplica.monitoring.recommendations",
    "resilience_in": "kreplica.fleet.availability.resilience",
    "resolve_handles": "kreplica.config.ways_in",
    "roll_next": "kreplica.execution.roll.next_wave",
    "roll_plan": "kreplica.execution.roll.planning",
    "safe_to_stop": "kreplica.monitoring.waiting.stop_gate",
    "scenario_named": "kreplica.scenarios",
    "select": "kreplica.model.selection",
    "ingest_dumps": "kreplica.monitoring.snapshots.ingestion",
    "take_snapshots": "kreplica.monitoring.snapshots.taking",
    "timeline": "kreplica.scenarios.outcome_rows",
    "unmute_rule": "kreplica.fleet.muting",
    "wait": "kreplica.monitoring.waiting.in_sync",
    "whatif_fail": "kreplica.monitoring.failure",
    "whatif_list": "kreplica.scenarios.listing",
    "whatif_model": "kreplica.engine.explorer.listing",
    "whatif_models": "kreplica.engine.explorer.listing",
    "QuorumBounds": "kreplica.engine.explorer.models.quorum.state",
    "SettingsBounds": "kreplica.engine.explorer.models.settings.state",
    "whatif_prove": "kreplica.engine.explorer.proof",
    "whatif_show": "kreplica.scenarios.listing",
    "whatif_validate": "kreplica.formats.traces.validation",
    "write_snapshot": "kreplica.store.writing",
}
"""Public names and the modules they live in."""

__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'kreplica' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
