"""Validation of a KRaft cluster's metadata log: every change of a partition is one that Kafka's rules allow.

Also each checkpoint that the log reaches: the records up to its offset have to make the state that it holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from kreplica.engine.settings import Value
from kreplica.engine.traces.trace_rule import TraceRule
from kreplica.errors import ExitCode
from kreplica.formats.damage import Damage
from kreplica.formats.file_bytes import FileBytes
from kreplica.formats.log_directory.cluster_identity import cluster_id_of
from kreplica.formats.metadata_log.changes import compare_images
from kreplica.formats.metadata_log.files import MetadataFiles, Replay, earliest, history, state_at
from kreplica.formats.metadata_log.history import chosen_log
from kreplica.formats.metadata_log.image import MetadataImage, PartitionChange
from kreplica.formats.metadata_log.log import metadata_entries
from kreplica.formats.traces.kraft.releases import Releases
from kreplica.formats.traces.kraft.rows import TraceChange
from kreplica.formats.traces.kraft.timers import Timers, timers_given
from kreplica.formats.traces.kraft.walk import Walk, refused
from kreplica.model.wording.words import counted


@dataclass(frozen=True, slots=True)
class Validation:
    """A judged trace.

    Args:
        home: The log that was read.
        remarks: Other logs of the same cluster, and where they end.
        cluster_id: Id of the cluster, None where not known.
        version: Release whose rules were taken last.
        rows: Every change and every fault, in order.
        counts: Number of changes by rule.
        begin, end: The first offset that was judged, and the one after the last; zxids in ZooKeeper mode.
        checkpoints: Number of checkpoints that the records were compared with.
        damage: What could not be read.
        unknown: Number of records of types that are not known.
        timers: What the timestamps tell of timers; nothing in ZooKeeper mode.
    """

    home: Path
    remarks: Sequence[str]
    cluster_id: str | None
    version: str
    rows: Sequence[TraceChange]
    counts: Counter[TraceRule]
    begin: int
    end: int
    checkpoints: int
    damage: Sequence[Damage]
    unknown: int
    timers: Timers = field(default_factory=Timers)

    @property
    def refused(self) -> list[TraceChange]:
        """The rows that no rule explains."""
        return list(refused(self.rows))

    @property
    def exit_code(self) -> ExitCode:
        """1 if anything is refused, 5 if nothing is but not all could be read."""
        if self.refused:
            return ExitCode.FINDINGS
        return ExitCode.INCOMPLETE if self.damage else ExitCode.OK

    @property
    def warnings(self) -> list[str]:
        """Remarks for a user."""
        told = [str(one) for one in self.damage]
        if self.unknown:
            told.append(f"{counted(self.unknown, 'record')} of types that kreplica does not know, not judged")
        return [*told, *self.remarks]


def validate_metadata_log(
    paths: Sequence[str], kafka_version: str | None = None, settings: Mapping[str, Value] | None = None
) -> Validation:
    """Judges the metadata log of a KRaft cluster by the engine's rules.

    Args:
        paths: Metadata logs of nodes, directories with some, segments or checkpoints; of several copies of one log the
            most trusted is read.
        kafka_version: Release of the controllers; None for what the log says of it.
        settings: Timers of the cluster, broker.session.timeout.ms and replica.lag.time.max.ms.

    Raises:
        UsageError: The release is not known, a setting is no timer, or the logs are of several clusters.
        InputError: There is no metadata log, it cannot be read, or it is older than the engine's rules.
    """
    timers = Timers(timers_given(settings or {}))
    files, others, damage = chosen_log(paths)
    replay, releases = Replay(), Releases(str(files.home), kafka_version)
    walk = Walk(replay.image, releases, timers=timers)
    base, compared = earliest(files), 0
    if base is not None:
        _begin_with(base, files, walk)
    waiting = _checkpoints(files, base)
    for entry, changes in history(files, replay, base):
        walk.take(entry, changes)
        if waiting and replay.image.next_offset == waiting[0][0]:
            compared += 1
            walk.faults(_other_than(replay.image, waiting.pop(0)))
    walk.end()
    version = releases.version(replay.image)
    copies = [f"{log.home} is another copy of the log, up to offset {end.end_offset}" for log, end in others]
    return Validation(
        home=files.home,
        remarks=[*copies, *timers.remarks(version.defaults)],
        cluster_id=cluster_id_of(files.log_directory, damage),
        version=version.name,
        rows=walk.rows,
        counts=walk.counts,
        begin=replay.start,
        end=replay.image.next_offset,
        checkpoints=compared,
        damage=[*damage, *replay.damage],
        unknown=sum(replay.image.unknown.values()),
        timers=timers,
    )


Checkpoint = tuple[int, MetadataFiles]


def _checkpoints(files: MetadataFiles, base: tuple[int, Path] | None) -> list[Checkpoint]:
    """The checkpoints behind the one that the log begins with, each as files of its own."""
    start = 0 if base is None else base[0]
    return [(one[0], replace(files, segments=(), checkpoints=(one,))) for one in files.checkpoints if one[0] > start]


def _other_than(image: MetadataImage, checkpoint: Checkpoint) -> Iterator[TraceChange]:
    """Differences between a checkpoint and what the records up to it make."""
    offset, files = checkpoint
    held = state_at(files, None).image
    name = files.checkpoints[0][1].name
    for change in compare_images(image, held):
        differing = _differing(change)
        if differing:
            reason = f"{name} holds another state than the records before it make: {differing}"
            yield TraceChange(offset, image.timestamp, change.topic, change.partition, None, reason)
    for broker in sorted({*image.brokers, *held.brokers}):
        one, other = image.brokers.get(broker), held.brokers.get(broker)
        if one is None or other is None or (one.fenced, one.epoch) != (other.fenced, other.epoch):
            reason = f"{name} holds another state of broker {broker} than the records before it make"
            yield TraceChange(offset, image.timestamp, None, None, None, reason)


def _differing(change: PartitionChange) -> str:
    """Differences of a partition in a checkpoint, as words; none where lists differ in their kind alone."""
    made, held = change.before, change.after
    if made is None or held is None:
        return "the partition is not in it" if held is None else "the partition is in it"
    both = {one.name: (getattr(held, one.name), getattr(made, one.name)) for one in fields(held)}
    return "; ".join(
        f"{name.replace('_', ' ')} {_words(one)}, not {_words(other)}"
        for name, (one, other) in both.items()
        if _words(one) != _words(other)
    )


def _words(value: int | Sequence[int] | Sequence[str]) -> str:
    return str(value) if isinstance(value, int) else ",".join(map(str, value)) or "none"


def _begin_with(base: tuple[int, Path], files: MetadataFiles, walk: Walk) -> None:
    """Takes brokers from the checkpoint that the log begins with, and what they said of themselves."""
    with FileBytes.open(base[1]) as source:
        for entry in metadata_entries(source, []):
            walk.releases.take(entry, walk.image)
    walk.brokers = dict(state_at(replace(files, segments=(), checkpoints=(base,)), None).image.brokers)
