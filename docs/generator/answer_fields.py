"""Meanings of the fields of the commands' rows. The names come from the code, the meanings are written here.

A field without a meaning, or a meaning without a field, stops the generator; tests/docs compares with real answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import decode_fields
import whatif_fields
from msgspec import Struct

from analyzers.preparing import ArchiveRow
from analyzers.rows import SnapshotCountsRow, SnapshotFinding, SpanFinding
from commands.decode.offsets.rows import OffsetRow
from commands.describe.rows import GROUP_ROWS
from kreplica.advice.model import Recommendation
from kreplica.config.listing import ContextRow, FileRow, SettingRow
from kreplica.engine.explorer.listing import ListedModel, ModelBound
from kreplica.engine.explorer.proof import ProofStep
from kreplica.execution.moves.rate_request import RateRow
from kreplica.execution.moves.rows import MoveRow
from kreplica.execution.moves.throttles.leftover import ThrottleRow
from kreplica.execution.rebalance.replicas import PlannedMove
from kreplica.execution.rebalance.rows import ChangeRow, ElectionRow
from kreplica.execution.rebalance.verify import PlanFault
from kreplica.execution.rehearsal.rows import RehearsedMove
from kreplica.execution.roll.next_wave import WaveNode
from kreplica.execution.roll.planning import PlannedNode
from kreplica.fleet.availability.resilience import Exposure
from kreplica.fleet.availability.slo import Downtime
from kreplica.fleet.incidents.rows import BehindRow, IncidentRow
from kreplica.fleet.muting import MuteRow
from kreplica.formats.log_directory.reading import ReplicaCheckpoints
from kreplica.formats.logs.copies import ComparedCopy
from kreplica.formats.logs.index_rows import IndexEntry
from kreplica.formats.logs.replicas import Finding as FileFinding
from kreplica.formats.metadata_log.change_rows import MetadataChange
from kreplica.formats.segments import rows as segment_rows
from kreplica.formats.traces.kraft.rows import TraceChange
from kreplica.formats.transactions.reading import TransactionRow
from kreplica.health.findings import Finding
from kreplica.health.imbalance import BrokerBalance
from kreplica.health.impact.whatif import FailedPartition
from kreplica.health.listing import row_meanings
from kreplica.history.ingest import IngestedCluster
from kreplica.history.lives.rows import BrokerStretch, ClusterPeriod, CommittedOffset, PartitionStretch, TopicStretch
from kreplica.model.comparison import Difference
from kreplica.model.tables.rows import fields_of, names_of
from kreplica.monitoring.context_check import CheckRow
from kreplica.monitoring.disk_space import LogDirRow
from kreplica.monitoring.snapshots.taking import SnapshotRow
from kreplica.monitoring.waiting.in_sync import AwaitedPartition
from kreplica.monitoring.waiting.stop_gate import StoppedPartition
from kreplica.planner.topic_placement import PlacedPartition
from kreplica.sandbox.rows import LoadRow, ServerRow, StoppedRow, TopicRow
from kreplica.scenarios.rows import ComparedRun, ListedScenario, ScenarioCase, TimelineStep


@dataclass(frozen=True, slots=True)
class AnswerFields:
    """The rows of one command.

    Args:
        schema: Its schema in JSON.
        rows_name: Key of the rows.
        fields: Name and meaning, in order.
        remarks: Paragraphs below the table.
        same_as: The command whose page lists these fields already.
        row: Class of the rows, from which the fields come; None where names and meanings are written here.
    """

    schema: str
    rows_name: str
    fields: Mapping[str, str]
    remarks: tuple[str, ...] = ()
    same_as: str = ""
    row: type[Struct] | None = None


def _rows(command: str, rows_name: str, row: type[Struct], *remarks: str) -> AnswerFields:
    """The rows of a command that are of a class."""
    meanings = {field.name: field.meaning.text for field in fields_of(row)}
    return AnswerFields(f"kreplica/{command}/v1", rows_name, meanings, remarks, row=row)


def _fields(columns: Sequence[str], meanings: Mapping[str, str]) -> dict[str, str]:
    assert set(columns) == set(meanings), set(columns) ^ set(meanings)
    return {name: meanings[name] for name in columns}


def _answer(command: str, rows_name: str, columns: Sequence[str], meanings: Mapping[str, str]) -> AnswerFields:
    return AnswerFields(f"kreplica/{command}/v1", rows_name, _fields(columns, meanings))


_DESCRIBE = row_meanings()

_MEASURED = (
    "With `--measure` a row has `measured`, too: for each missing replica that could be asked an object with broker,"
    " leader, pace (caught-up, catching-up, falling-behind, not-moving, unknown), records_behind, bytes_behind,"
    " records_per_second, bytes_per_second, leader_records_per_second and seconds_to_catch_up."
)
_SUMMARY_CAUSES = (
    "`summary.causes` is the smallest set of causes that explains what is under-replicated, or what a filter matched,"
    " the worst first: kind, broker, brokers, rack, leader, others, partitions, failing (of these with failing writes),"
    " certain, since, evidence. `summary.causes_open` is what it leaves open: partitions, choices, every_choice, read."
    " `summary.causes_smallest` is false where a smaller set may exist."
)
_GROUPS = "With `--group-by` the rows, under `groups`, are gathered: " + "; ".join(
    f"by {group_by}: " + ", ".join(f"`{name}`" for name in names_of(row)) for group_by, row in GROUP_ROWS.items()
)
_DESCRIBE_REMARKS = (_MEASURED, _SUMMARY_CAUSES, f"{_GROUPS}.")

_AUDIT_REMARKS = (
    "With `--per-snapshot` a row is one finding in one snapshot: "
    + ", ".join(f"`{name}`" for name in names_of(SnapshotFinding))
    + ".",
    "With `--counts` the rows, under `counts`, are the counts of each cluster and time: "
    + ", ".join(f"`{name}`" for name in names_of(SnapshotCountsRow))
    + ".",
    (
        "Where a mute covers findings, `summary` has how many are `muted`, and under `mutes` each mute and cluster:"
        " rule, cluster, topic (its pattern), at_most, until, muted_at, findings (`of` says finding, or incident where"
        " a kind of incidents is muted), whether it is `broken`, and"
        " `before` and `after` it was made the most findings `at_once` and their worst `severity`. With `--baseline` it"
        " has `in_baseline`."
    ),
)
_HISTORY_REMARKS = tuple(
    f"{words} the rows are under `{name}`: "
    + "; ".join(f"`{one.name}`, {one.meaning.text}" for one in fields_of(row))
    + "."
    for words, name, row in (
        ("Of a topic", "topic_stretches", TopicStretch),
        ("Of a broker", "broker_stretches", BrokerStretch),
        ("Of the clusters", "periods", ClusterPeriod),
        ("Of a consumer group", "committed_offsets", CommittedOffset),
    )
)
_INCIDENTS_REMARK = (
    "Where a mute covers findings, `summary` has the number of incidents that are `muted`, which are no rows, that of"
    " `muted_findings`, and `mutes` as `kreplica audit` has them."
)
_INCIDENT_REMARK = "The incident itself is beside the rows, under `incident`, with the fields of `audit incidents`."
_RECOMMEND_REMARK = "`summary.unjudged` lists the rules that lacked a fact, for how many subjects, and which fact."
_DISKS_REMARK = (
    "`summary` has the totals, in which directories that may share a volume count once, and three lists: `largest`, the"
    " largest partitions with their retention settings, each with value and origin; `strays`, replicas on a broker that"
    " the cluster does not place there, with the reason; `futures`, copies within a broker, with their lag."
)
_ASSIGN_REMARK = (
    "`summary` has the `algorithm` and the `seed`, the replicas as `kafka-topics --replica-assignment` takes them, and"
    " under `brokers` the `leaders` and `replicas` that each broker would get."
)
_REPLICAS_REMARK = (
    "`summary` has how many `partitions` change, the `moves` (replicas that are added), their `bytes`, the"
    " `leader_changes`, and the partitions that are not planned: `left_out`, `leaderless`, `reassigning`."
    " `changed_directories` has replicas that stay on their broker and change their log directory. `bounds` has for"
    " each aim what the plan takes and what no plan goes below, `effects` each broker and rack before and after,"
    " `certificate` what `rebalance verify` checks."
)
_REHEARSE_REMARK = (
    "`summary` has the `runs` that were played of those `asked` for, how many are `failing`, how many of these fail"
    " without the plan, too (`failing_without_plan`), what went `wrong` in how many, the longest time in one run in"
    " which some partition took no writes (`unwritten_ms`), each of the `kinds` with its moves and how many were"
    " played, and the `worst` run: its seed and `trace_hash`, the partition, the records that are `lost` or `unseen`,"
    " `why`, its `failures` and the `story` of the partition, each moment with `time_ms` and `what`, and the command"
    " that plays it again (`replay`). `worst` is null where nothing happened to any partition."
)
_IMBALANCE_REMARK = (
    "`summary` has how many partitions are concerned (`imbalance_count`) and what the controller's metric of the name"
    " says (`preferred_replica_imbalance_count`: in ZooKeeper mode partitions that are moving to their preferred leader"
    " count otherwise; null where not known). It has what the controller decides by (`balancing`, each setting with its"
    " origin), how leaders, preferred leaders, replicas and bytes lie on the live brokers (`skew`), and under"
    " `non_preferred` each partition concerned with the `obstacle` that keeps its preferred leader from being elected,"
    " null if nothing does."
)


_MOVES_REMARK = (
    "Of a plan of replicas the rows stand under `moves`: "
    + "; ".join(f"`{one.name}` {one.meaning.text}" for one in fields_of(MoveRow))
    + ". Its `summary` has the number of moves in each state under `states` and `rollback`, `bytes`, `bytes_left`,"
    " `throttle` (bytes a second for each broker that a run has set last, null where none is set), `seconds_left` (the"
    " least time of copying at that throttle, null where none is known), the partitions"
    " that `others` move, and whether throttles are still set (`throttles_owed`)."
)


_INGEST_REMARK = (
    "`summary` has the sums of `added`, `log_months`, `known`, `refused`, `damaged`, `left_out` and `bytes`, the"
    " snapshots that nothing says whose they are (`nameless`), files that are no snapshots (`unread`),"
    " `months_dropped`, `months_damaged`, and who did it (`folded_by`)."
)


_RESILIENCE_REMARK = (
    "`clusters` has of each the `snapshots`, the time that is known (`known_seconds`) and that of pauses"
    " (`paused_seconds`). `summary` has the number of `losses`, how many would have done harm at any time (`harmful`)"
    " and do now (`harmful_now`), the sums of both times, and the months that are `left_out`."
)


_SLO_REMARK = (
    "`clusters` has of each the `snapshots`, the time that is known (`known_seconds`) and that of pauses"
    " (`paused_seconds`). `summary` has the `objective`, how many rows `missed` and `met` it and how many are `unsure`,"
    " the sums of both times, and the months that are `left_out`."
)


def _servers(command: str) -> AnswerFields:
    same_as = "" if command == "start" else "kreplica sandbox start"
    return replace(_rows(f"sandbox-{command}", "servers", ServerRow), same_as=same_as)


def _plan(command: str) -> AnswerFields:
    same_as = "" if command == "apply" else "kreplica rebalance apply"
    return replace(_rows(f"rebalance-{command}", "changes", ChangeRow, _MOVES_REMARK), same_as=same_as)


ANSWERS: Mapping[str, AnswerFields] = {
    "kreplica describe": AnswerFields("kreplica/describe/v1", "partitions", _DESCRIBE, _DESCRIBE_REMARKS),
    "kreplica check": _rows("check", "findings", Finding),
    "kreplica compare": _rows("compare", "differences", Difference),
    "kreplica audit": _rows("audit", "findings", SpanFinding, *_AUDIT_REMARKS),
    "kreplica history": _rows("history", "stretches", PartitionStretch, *_HISTORY_REMARKS),
    "kreplica audit incidents": _rows("audit-incidents", "incidents", IncidentRow, _INCIDENTS_REMARK),
    "kreplica audit incident": _rows("audit-incident", "findings", BehindRow, _INCIDENT_REMARK),
    "kreplica audit ingest": _rows("audit-ingest", "ingested", IngestedCluster, _INGEST_REMARK),
    "kreplica audit prepare": _rows("audit-prepare", "archives", ArchiveRow),
    "kreplica audit resilience": _rows("audit-resilience", "losses", Exposure, _RESILIENCE_REMARK),
    **{f"kreplica audit {name}": _rows(f"audit-{name}", "mutes", MuteRow) for name in ("mute", "unmute", "mutes")},
    "kreplica audit slo": _rows("audit-slo", "downtimes", Downtime, _SLO_REMARK),
    "kreplica recommend": _rows("recommend", "recommendations", Recommendation, _RECOMMEND_REMARK),
    "kreplica disks": _rows("disks", "log_dirs", LogDirRow, _DISKS_REMARK),
    "kreplica rebalance leaders": _rows("rebalance-leaders", "elections", ElectionRow),
    "kreplica rebalance replicas": _rows("rebalance-replicas", "moves", PlannedMove, _REPLICAS_REMARK),
    "kreplica rebalance verify": _rows("rebalance-verify", "faults", PlanFault),
    "kreplica rebalance rehearse": _rows("rebalance-rehearse", "moves", RehearsedMove, _REHEARSE_REMARK),
    **{f"kreplica rebalance {name}": _plan(name) for name in ("apply", "status", "resume", "cancel", "rollback")},
    "kreplica rebalance throttle": _rows("rebalance-throttle", "rates", RateRow),
    "kreplica rebalance throttles": _rows("rebalance-throttles", "throttles", ThrottleRow),
    "kreplica imbalance": _rows("imbalance", "brokers", BrokerBalance, _IMBALANCE_REMARK),
    "kreplica safe-to-stop": _rows("safe-to-stop", "partitions", StoppedPartition),
    "kreplica whatif fail": _rows("whatif-fail", "partitions", FailedPartition),
    "kreplica assign": _rows("assign", "partitions", PlacedPartition, _ASSIGN_REMARK),
    "kreplica roll plan": _rows("roll-plan", "nodes", PlannedNode),
    "kreplica roll next": _rows("roll-next", "nodes", WaveNode),
    "kreplica wait": _rows("wait", "partitions", AwaitedPartition),
    "kreplica snapshot": _rows("snapshot", "snapshots", SnapshotRow),
    "kreplica decode offsets": _rows("decode-offsets", "offsets", OffsetRow, *decode_fields.OFFSETS_REMARKS),
    "kreplica decode segment": AnswerFields(
        "kreplica/decode-segment/v1",
        "batches",
        _fields(segment_rows.BATCH_FIELDS, decode_fields.BATCHES),
        (
            decode_fields.RECORDS_REMARK + ". What is no UTF-8 in keys, values and headers is escaped.",
            decode_fields.SEGMENT_INDEXES_REMARK,
        ),
    ),
    "kreplica decode checkpoints": _rows(
        "decode-checkpoints", "checkpoints", ReplicaCheckpoints, *decode_fields.CHECKPOINTS_REMARKS
    ),
    "kreplica decode transactions": _rows(
        "decode-transactions", "transactions", TransactionRow, *decode_fields.TRANSACTIONS_REMARKS
    ),
    "kreplica decode metadata": _rows("decode-metadata", "changes", MetadataChange, *decode_fields.METADATA_REMARKS),
    "kreplica decode indexes": _rows("decode-indexes", "entries", IndexEntry),
    "kreplica decode check": _rows("decode-check", "findings", FileFinding),
    "kreplica decode compare": _rows("decode-compare", "copies", ComparedCopy, *decode_fields.COMPARE_REMARKS),
    "kreplica whatif list": _rows("whatif-list", "scenarios", ListedScenario),
    "kreplica whatif show": _rows("whatif-show", "cases", ScenarioCase, *whatif_fields.SHOW_REMARKS),
    "kreplica whatif run": _rows("whatif-run", "timeline", TimelineStep, *whatif_fields.RUN_REMARKS),
    "kreplica whatif compare": _rows("whatif-compare", "runs", ComparedRun),
    "kreplica whatif models": _rows("whatif-models", "models", ListedModel),
    "kreplica whatif model": _rows("whatif-model", "bounds", ModelBound, *whatif_fields.MODEL_REMARKS),
    "kreplica whatif prove": _rows("whatif-prove", "steps", ProofStep, *whatif_fields.PROVE_REMARKS),
    "kreplica whatif validate": _rows("whatif-validate", "changes", TraceChange, *whatif_fields.VALIDATE_REMARKS),
    "kreplica config init": _rows("config-init", "files", FileRow),
    "kreplica config check": _rows("config-check", "checks", CheckRow),
    "kreplica config list": _rows("config-list", "contexts", ContextRow),
    "kreplica config use": replace(_rows("config-use", "contexts", ContextRow), same_as="kreplica config list"),
    "kreplica config show": _rows("config-show", "settings", SettingRow),
    "kreplica sandbox topic": _rows("sandbox-topic", "partitions", TopicRow),
    "kreplica sandbox load": _rows("sandbox-load", "partitions", LoadRow),
    "kreplica sandbox stop": _rows("sandbox-stop", "sandboxes", StoppedRow),
    **{
        f"kreplica sandbox {name}": _servers(name)
        for name in ("start", "status", "kill", "pause", "resume", "start-broker")
    },
}
