"""The tables of docs/conformance.md on rules that changed with a release, and what holds each, by ``make golden``.

Releases whose answers are the same stand together. Fields are those of ``kreplica.engine.versions.version.Version``.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from kreplica.engine.versions.changes import OLDEST_KRAFT
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import ControllerKind, Version
from releases.boundaries import PLAYED, ROWS, SOURCE, Boundary, boundaries
from releases.kafka_classes import ANSWERS, ROOT

PAGE = ROOT / "docs" / "conformance.md"
BEGIN, END = "<!-- table: make golden -->\n", "\n<!-- end of the table of classes -->"
HELD = {
    "fetch-states.txt": (
        "which position of a follower a leader notes of an answer",
        ("diverging_position_noted", "errors_forget_position"),
    ),
    "fetchers.txt": (
        "whether a follower takes an answer, or cuts its log",
        ("truncate_on_fetch", "watermark_before_cut"),
    ),
    "out-of-range.txt": ("a follower whose leader has less", ("truncation_needs_unclean",)),
    "followers.txt": ("when a follower begins to follow anew", ("epochs_followed_on",)),
    "follower-positions.txt": ("when a follower had everything last", ()),
    "truncations.txt": ("where a follower truncates", ("epoch_noted_at_election",)),
    "leader-epochs.txt": ("a log's leader epochs, and where each ends", ("epoch_noted_at_election",)),
    "in-sync.txt": ("when a follower joins the ISR, and when it lags", ("join_at_epoch_start", "end_suffices")),
    "high-watermarks.txt": (
        "the maximal ISR, and the high watermark of a leader",
        ("alter_partition", "waits_only_for_eligible", "freeze_below_min_isr"),
    ),
    "recovery-points.txt": ("up to where a recovered log counts as flushed", ("recovered_point",)),
    "zookeeper-elections.txt": (
        "elections in ZooKeeper mode",
        ("offline_by_isr_order", "shutdown_by_isr_order"),
    ),
    "broker-ends.txt": ("how a broker ends rather than truncate", ("halts_by_exit", "exit_hangs")),
    "old-followers.txt": ("whether a leader that is not alive is followed", ("dead_leaders_ignored",)),
    "old-leaders.txt": ("positions of followers that a leader has from before", ("positions_outlive_leaders",)),
    "failed-fetches.txt": ("the position of a follower whose fetch ends with an error", ("errors_forget_position",)),
    "isr-reports.txt": ("whether the controller is to hear of an ISR that a leader wrote", ("isr_notification",)),
    "failovers.txt": ("whom a new controller takes out of the ISRs, in ZooKeeper mode", ("failover_cleans_isrs",)),
    "controller-writes.txt": ("whether writes of a deposed controller are refused", ("controller_epoch_checked",)),
    "log-directories.txt": (
        "whether a broker outlives a log directory, and whom it tells",
        ("failed_directories_told",),
    ),
    "isr-removals.txt": ("the ISR when a replica goes offline, in ZooKeeper mode", ("keeps_last_in_sync",)),
    "moves-in-flight.txt": ("KRaft moves, their end and cancellation", ("moves_wait_for",)),
    "stale-elrs.txt": (
        "ELRs that were cleared and stay in the controller's index, and directories that are assigned",
        ("assigned_keep_elr",),
    ),
    "new-disks.txt": (
        "brokers that come back with another disk, in any order of its steps, or are unregistered",
        ("assigned_keep_elr",),
    ),
    "known-states.txt": ("a leader that is told a state that it knows", ("known_state_ends_pending",)),
    "move-begins.txt": ("brokers that must be alive for a move to begin, in ZooKeeper mode", ("moves_must_live",)),
    "move-ends.txt": ("replicas that a move waits for, in either mode", ("moves_wait_for",)),
    "balances.txt": ("elections of preferred leaders while replicas are moved", ("balances_while_moving",)),
    "restarts.txt": ("the ISR as a broker registers anew, in KRaft", ("restarted_leave_isrs",)),
    "sessions.txt": ("whether a broker's session stands, in KRaft", ("fenced_keep_sessions",)),
    "expiries.txt": ("which of several silent brokers is fenced first, in KRaft", ("fenced_first",)),
    "activations.txt": (
        "whether sessions of brokers stand at a controller that has taken over, in KRaft",
        ("failover_renews_fenced",),
    ),
    "last-leaders.txt": (
        "the last leader where ISR and ELR are empty",
        ("last_leader_must_be_back", "last_leader_noted_at_once"),
    ),
    "producer-states.txt": ("batches of an idempotent producer", ("cached_batches", "unknown_producer")),
    "ends.txt": ("the end of a transaction", ("fence_rotates",)),
    "inits.txt": ("a producer id that is asked for", ()),
    "transaction-appends.txt": ("batches and markers of transactions", ("zero_sequence_first", "strict_markers")),
    "uniform.txt": ("partitions that the uniform assignor gives", ("more_stays",)),
    "consumer-groups.txt": (
        "heartbeats and commits of members of KIP-848, and the epoch of a new group",
        ("members_rejoin", "groups_begin_at_epoch", "assignment_epochs"),
    ),
    "resets.txt": ("values of auto.offset.reset", ("resets_by_duration",)),
    "preferred-replicas.txt": ("the follower that a consumer is sent to", ("reads_in_sync_only",)),
    "redirects.txt": ("whether it is sent there at once", ("redirects_at_once",)),
    "consumer-errors.txt": ("errors that send it back to the leader", ("errors_lead_to_leader",)),
    "protocol.txt": (
        "requests and errors without which there is no such rule",
        (
            "alter_partition",
            "bounces_are_seen",
            "consumer_detects_truncation",
            "deletes_records",
            "failed_directories_told",
            "failed_directories_tolerated",
            "fenced_fetch",
            "fenced_is_final",
            "idempotence",
            "ineligible_refused",
            "latest_waits_for_epoch",
            "member_id_required",
            "moves_can_change",
            "raises_own_epoch",
            "stable_offsets",
            "tells_abortable",
            "transaction_version",
            "truncation",
        ),
    ),
    "features.txt": (
        "features of a new cluster",
        ("group_version", "consumer_protocol", "transaction_version", "elr"),
    ),
    "defaults.txt": ("defaults of brokers, producers and consumers", ()),
}
"""By file: what it holds, and the fields of a version whose values it tells apart."""
WHOLE = (
    "protocol.txt",
    "features.txt",
    "fetch-states.txt",
    "defaults.txt",
    "zookeeper-elections.txt",
    "broker-ends.txt",
)
"""Files whose answers differ by more than one rule, or whose class did what followers did not use yet."""
IN_BOTH_MODES = ("known-states.txt", "log-directories.txt", "move-ends.txt")
"""Files whose lines begin with a mode."""
OF_KRAFT = (
    "moves-in-flight.txt",
    "sessions.txt",
    "expiries.txt",
    "activations.txt",
    "features.txt",
    "restarts.txt",
    *IN_BOTH_MODES,
)
"""Files with answers of KRaft."""
BETWEEN = """\
The next table has each rule that changed with a release, and the evidence for both sides of the change: answers of
Kafka's classes; a row of [old releases](#old-releases), on brokers of both sides; a [scenario](whatif.md) with another
outcome without the change (its expected values are from Kafka's source and issues); or Kafka's source alone."""


def groups(file: str) -> list[list[str]]:
    """Releases of a file, oldest first; those that print the same stand together."""
    told: dict[str, list[str]] = {}
    for line in (ANSWERS / file).read_text().splitlines():
        releases, bar, answer = line.partition(" | ")
        if not bar:
            releases, _, answer = line.partition(" ")
        for release in releases.split():
            told.setdefault(release, []).append(answer)
    found: dict[tuple[str, ...], list[str]] = {}
    for release in sorted(told, key=lambda one: tuple(map(int, one.split(".")))):
        found.setdefault(tuple(told[release]), []).append(release)
    return list(found.values())


def version_of(file: str, release: str) -> Version:
    """The engine's version for a release of a file: in ZooKeeper mode where there is one, but for KRaft's own."""
    kraft = file in OF_KRAFT and release < "4"
    return version_named(f"{release}-kraft" if kraft else release)


def number(release: str) -> tuple[int, ...]:
    """A release as a number that can be compared."""
    return tuple(map(int, release.split(".")))


def modes_differ(file: str) -> bool:
    """True if a release answers the same questions otherwise with ZooKeeper than in KRaft: what began with KRaft."""
    answers: dict[str, set[str]] = {}
    for line in (ANSWERS / file).read_text().splitlines():
        mode, _, answer = line.partition(" | ")[2].partition(" ")
        answers.setdefault(mode, set()).add(answer)
    return len(answers) == 2 and len(set(map(frozenset, answers.values()))) == 2


def told_apart(file: str, boundary: Boundary) -> bool:
    """True if a file has the last release before and the first release from a boundary on, with different answers."""
    if file in IN_BOTH_MODES and boundary.key.endswith(f" {'.'.join(map(str, OLDEST_KRAFT))} KRaft"):
        return modes_differ(file)
    found = groups(file)
    asked = sorted((release for group in found for release in group), key=number)
    before = [release for release in asked if number(release) < number(boundary.since)]
    later = [release for release in asked if number(release) >= number(boundary.since)]
    kraft = version_of(file, asked[0]).controller is ControllerKind.KRAFT
    if not before or not later or (boundary.only is not None and not kraft):
        return False
    values = {getattr(version_of(file, release), boundary.field) for release in (before[-1], later[0])}
    return len(values) == 2 and not any(before[-1] in group and later[0] in group for group in found)


def classes_of(boundary: Boundary) -> list[str]:
    """Files that hold a rule on both sides of a boundary."""
    return [file for file, (_, named) in HELD.items() if boundary.field in named and told_apart(file, boundary)]


def line_of(boundary: Boundary) -> str:
    """A boundary in the table."""
    files = ", ".join(f"`{file}`" for file in classes_of(boundary))
    row, scenario = ROWS.get(boundary.key, ""), PLAYED.get(boundary.key, "").partition(" ")[0]
    cells = (f"`{boundary.field}`", boundary.key.partition(" ")[2], files, row, scenario, SOURCE.get(boundary.key, ""))
    return f"| {' | '.join(cells)} |"


def table() -> str:
    """What stands in the page."""
    lines = [
        "| what | fields of `Version` that it tells apart | releases that were asked | file |",
        "| --- | --- | --- | --- |",
    ]
    for file, (what, named) in HELD.items():
        releases = "; ".join(", ".join(group) for group in groups(file))
        told = ", ".join(f"`{one}`" for one in named) or "none"
        lines.append(f"| {what} | {told} | {releases} | `{file}` |")
    lines += [
        "",
        BETWEEN,
        "",
        "| rule | since | Kafka's classes | brokers of both sides | scenario | source |",
        "| --- | --- | --- | --- | --- | --- |",
        *map(line_of, boundaries()),
    ]
    return "\n".join(lines) + "\n"


def write(page: Path = PAGE) -> None:
    """Puts the table into the page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{table()}{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    write()
