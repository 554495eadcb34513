"""Brokers to repair that are named by how long they have been down: looked up in the snapshot and in earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.errors import UsageError
from kreplica.model.wording.durations import spell_duration
from kreplica.model.wording.words import are, named
from kreplica.planner.reassignment.dead_brokers import dead_brokers
from kreplica.planner.reassignment.request import Request
from kreplica.sources.dumps.dump import read_dump
from kreplica.store.reading import list_manifests, read_snapshot_files

if TYPE_CHECKING:
    from kreplica.model.snapshot import ClusterSnapshot


def with_dead_brokers(request: Request, snapshot: ClusterSnapshot, since: Path | None) -> tuple[Request, list[str]]:
    """The request with the brokers that have been down long enough, and remarks on them.

    Args:
        request: Reasons; one may ask for brokers that have been down for some time.
        snapshot: The cluster.
        since: An earlier snapshot of it, or a directory of snapshots; None for none.

    Raises:
        UsageError: Nothing tells since when a broker is down, or the earlier snapshot is of another cluster.
        InputError: The earlier snapshot cannot be read.
    """
    seconds = request.dead_for
    if seconds is None:
        return request, []
    earlier = [] if since is None else _earlier(since, snapshot, seconds)
    found = dead_brokers(snapshot, seconds, earlier)
    reasons = tuple(
        reason if reason.dead_for is None else replace(reason, brokers=found.long) for reason in request.reasons
    )
    asked = spell_duration(seconds)
    remarks = []
    if not found.long:
        remarks.append(f"no broker has been down for {asked}")
    if found.recent:
        remarks.append(f"{_are(found.recent)} down for less than {asked}, expected back and not repaired")
    if found.seen_down:
        remarks.append(f"{_are(found.seen_down)} down now and in earlier snapshots; nothing tells of the time between")
    return replace(request, reasons=reasons), remarks


def _are(brokers: Sequence[int]) -> str:
    return f"{named('broker', brokers, 5)} {are(len(brokers))}"


def _earlier(since: Path, now: ClusterSnapshot, seconds: float) -> list[ClusterSnapshot]:
    """Earlier snapshots: the newest that is old enough, and all after it."""
    if since.is_dir() and (manifests := list_manifests([since]).manifests):
        limit = now.taken_at - timedelta(seconds=seconds)
        mine = [one for one in manifests if one.snapshot.label == now.label and one.snapshot.taken_at < now.taken_at]
        old = [one for one in mine if one.snapshot.taken_at <= limit]
        found = [read_snapshot_files(one) for one in (*old[-1:], *mine[len(old) :])]
        if not found:
            raise UsageError(f"--since {since} has no earlier snapshot of cluster {now.label}")
        return found
    one = read_dump(str(since))
    if one.cluster_id is not None and now.cluster_id is not None and one.cluster_id != now.cluster_id:
        raise UsageError(f"--since {since} is another cluster", f"{one.cluster_id}, and this is {now.cluster_id}")
    if one.taken_at >= now.taken_at:
        raise UsageError(f"--since {since} is not earlier", "", "name an older snapshot")
    return [one]
