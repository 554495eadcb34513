"""Months of a history added to on Spark: a task a cluster and month, by the same call as on one machine.

The executors have to be like this process: the same kreplica and pyarrow, which make the same bytes, the same snapshots
and the same history. All of it is tried first; where it is not so, processes of this machine do the work, and it is
said. Nothing but plain values comes back from executors.
"""

from __future__ import annotations

import pickle
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from analyzers.sessions.failures import reason_in_python, words_of
from analyzers.sessions.jvm import is_submitted
from analyzers.sessions.session import settings_for, shown_address, spark_session
from kreplica.errors import ExitCode, KreplicaError, UnreachableError, UsageError
from kreplica.history.backfill import ClientWorkers, MonthTask, snapshots_of
from kreplica.history.months.month import Added, Incoming
from kreplica.system.stores.storage import LocalStorage, Storage
from kreplica.version import __version__

if TYPE_CHECKING:
    from analyzers.sessions.session import SparkSession

FEW = 500
"""Below so many snapshots this machine is done before Spark has started."""
FIRST_TASKS = 32
WAVE_SECONDS = 10.0
"""Tasks are handed out in waves, for progress: the next is twice as large if one took less."""
TRIALS = 8
PROBE = "probe-"
PROBE_SECONDS = 86_400
MOST_PROBE = 64

Work = Callable[[Iterator[Any]], Iterator[Any]]


class _Outcome(msgspec.Struct, frozen=True):
    """Result of a task as it comes back.

    Attributes:
        damaged: Number of each snapshot that cannot be read, and the error's three parts.
        left_out: Number of each snapshot that was not added for a fault of the month.
        fault: The three parts of the error that tells it.
        refused: Exit code and parts of the error that ended the task.
        failed: What the system said, where that ended the task.
    """

    added: int = 0
    known: int = 0
    bytes: int = 0
    damaged: list[tuple[int, str, str, str]] = []
    left_out: list[int] = []
    fault: tuple[str, str, str] | None = None
    refused: tuple[int, str, str, str] | None = None
    failed: tuple[int, str] | None = None


@dataclass
class SparkWorkers:
    """Executors of a Spark that the user named, for many snapshots; this machine for few.

    Args:
        master: As for ``spark_session``.
        remote: As for ``spark_session``.
        settings: Settings of Spark.
    """

    master: str | None = None
    remote: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    elsewhere: bool = True

    def __post_init__(self) -> None:
        self._client = ClientWorkers()
        self.by = self._client.by
        self.notes: Sequence[str] = ()

    def add(self, tasks: Sequence[MonthTask]) -> Iterator[Added]:
        """As Workers.add.

        Raises:
            KreplicaError: Spark cannot be started, or went away.
        """
        far = [_anywhere(task) for task in tasks if not task.is_held]
        if snapshots_of(far) < FEW:
            yield from self._on_this_machine(tasks)
            return
        with spark_session(self.master, self.remote, settings_for(0, self.remote, asked=self.settings)) as spark:
            place = shown_address(self.remote) if self.remote else spark.sparkContext.master
            if reason := unfit(spark, far):
                self.notes = [f"Spark on {place} did not fold the snapshots, this machine did: {reason}"]
            else:
                self.by = f"Spark on {place}"
                results = _on_spark(spark, far)
                for task in tasks:
                    yield task.add() if task.is_held else next(results)
        if self.notes:
            yield from self._on_this_machine(tasks)

    def _on_this_machine(self, tasks: Sequence[MonthTask]) -> Iterator[Added]:
        for result in self._client.add(tasks):
            self.by = self._client.by
            yield result


def _anywhere(task: MonthTask) -> MonthTask:
    """The task with a path that other processes understand, wherever they stand."""
    if type(task.storage) is not LocalStorage:
        return task
    return replace(task, storage=LocalStorage(Path(task.storage.named("")).absolute()))


def workers_for(master: str | None, remote: str | None, settings: Mapping[str, str]) -> SparkWorkers | ClientWorkers:
    """Spark's executors where the user named a Spark, or spark-submit started this process; otherwise this machine."""
    if master is None and remote is None and not is_submitted():
        return ClientWorkers()
    return SparkWorkers(master, remote, settings)


def unfit(spark: SparkSession, tasks: Sequence[MonthTask]) -> str:
    """The reason why executors cannot add to the history; empty if they can."""
    from pyspark.errors import PythonException

    storage, token = tasks[0].storage, uuid.uuid4().hex
    asked = PROBE + token
    written = [f"{asked}-{number}" for number in range(TRIALS)]
    _clear_probes(storage)
    storage.create(asked, token.encode())
    try:
        trial = Trial(storage, token, _readable(tasks))
        answers = _run(spark, "try_out", [trial] * TRIALS)
        if reason := next(filter(None, answers), ""):
            return reason
        shared = all(_holds(storage, path, token) for path in written)
        return "" if shared else f"what an executor writes does not appear in {storage.named('')}"
    except PythonException as error:
        return reason_in_python(words_of(error))
    finally:
        for path in (asked, *written):
            with suppress(OSError, KreplicaError):
                storage.remove(path)


def _readable(tasks: Sequence[MonthTask]) -> Incoming | None:
    """A snapshot that can be read here, so that it has to be readable elsewhere."""
    for task in tasks[:TRIALS]:
        with suppress(KreplicaError):
            task.incoming[0].read()
            return task.incoming[0]
    return None


def _holds(storage: Storage, path: str, content: str) -> bool:
    try:
        return storage.read(path, MOST_PROBE) == content.encode()
    except OSError:
        return False


def _clear_probes(storage: Storage) -> None:
    """Removes what a client that was killed left."""
    for name in storage.names(""):
        if name.startswith(PROBE):
            age = storage.age(name)
            if age is not None and age > PROBE_SECONDS:
                storage.remove(name)


def _on_spark(spark: SparkSession, tasks: Sequence[MonthTask]) -> Iterator[Added]:
    begin, size = 0, FIRST_TASKS
    while begin < len(tasks):
        wave = tasks[begin : begin + size]
        began = time.monotonic()
        for task, answer in zip(wave, _run(spark, "outcome_of", wave), strict=True):
            yield _added(task, answer)
        begin += len(wave)
        if time.monotonic() - began < WAVE_SECONDS:
            size *= 2


def _run(spark: SparkSession, function: str, items: Sequence[object]) -> list[str]:
    """Answers of a function of this module on executors, each of which is a task of its own."""
    rows = [(number, pickle.dumps(item)) for number, item in enumerate(items)]
    frame = spark.createDataFrame(rows, "number int, content binary").coalesce(1).repartition(len(rows))
    found = frame.mapInArrow(_calling(function, _versions()), "number int, answer string").collect()
    answers = {row.number: row.answer for row in found}
    return [answers[number] for number in range(len(rows))]


def _added(task: MonthTask, answer: str) -> Added:
    if not answer.startswith("{"):  # an executor that came later, and is another
        return task.add()
    outcome = msgspec.json.decode(answer, type=_Outcome)
    if outcome.failed is not None:
        raise OSError(*outcome.failed)
    if outcome.refused is not None:
        code, *parts = outcome.refused
        raise (UnreachableError if code == ExitCode.UNREACHABLE else UsageError)(*parts)
    damaged = tuple((task.incoming[number], UsageError(*parts)) for number, *parts in outcome.damaged)
    left_out = tuple(task.incoming[number] for number in outcome.left_out)
    fault = None if outcome.fault is None else UsageError(*outcome.fault)
    return Added(outcome.added, outcome.known, damaged, outcome.bytes, left_out, fault)


def outcome_of(_: int, task: MonthTask) -> str:
    """Adds to a month on an executor, and says what came of it."""
    try:
        added = task.add()
    except OSError as error:
        outcome = _Outcome(failed=(error.errno or 0, error.strerror or str(error)))
    except KreplicaError as error:
        outcome = _Outcome(refused=(error.exit_code, error.what, error.why, error.fix))
    else:
        numbers = {id(one): number for number, one in enumerate(task.incoming)}
        damaged = [(numbers[id(one)], error.what, error.why, error.fix) for one, error in added.damaged]
        left_out = [numbers[id(one)] for one in added.left_out]
        fault = None if added.fault is None else (added.fault.what, added.fault.why, added.fault.fix)
        outcome = _Outcome(added.added, added.known, added.bytes, damaged, left_out, fault)
    return msgspec.json.encode(outcome).decode()


@dataclass(frozen=True, slots=True)
class Trial:
    """Work that shows whether an executor can do the rest.

    Args:
        storage: Place of the history.
        token: Content and name of a file there.
        snapshot: One of those that are to be added.
    """

    storage: Storage
    token: str
    snapshot: Incoming | None


def try_out(number: int, trial: Trial) -> str:
    """The reason why this executor cannot add to the history; empty if it can."""
    path = PROBE + trial.token
    try:
        if not _holds(trial.storage, path, trial.token):
            return f"an executor does not find the history {trial.storage.named('')}"
        trial.storage.create(f"{path}-{number}", trial.token.encode())
    except (OSError, KreplicaError) as error:
        return f"an executor cannot write to the history: {error}"
    try:
        if trial.snapshot is not None:
            trial.snapshot.read()
    except KreplicaError as error:
        return f"an executor cannot read a snapshot: {error}"
    return ""


def _versions() -> dict[str, str]:
    return {"kreplica": __version__, "pyarrow": version("pyarrow")}


def _calling(function: str, wanted: Mapping[str, str]) -> Work:
    """Work that goes to executors by its code, so that it can tell where kreplica is not there."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import importlib
        import pickle

        import pyarrow

        def answer(number: int, content: bytes) -> str:
            for name, wants in wanted.items():
                try:
                    found = importlib.import_module(name).__version__
                except ImportError:
                    return f"an executor has no {name}"
                if found != wants:
                    return f"an executor has {name} {found}, and this machine {wants}"
            said: str = getattr(importlib.import_module("analyzers.backfill"), function)(number, pickle.loads(content))
            return said

        for batch in batches:
            numbers, contents = (column.to_pylist() for column in batch.columns)
            said = [answer(number, content) for number, content in zip(numbers, contents, strict=True)]
            columns = [pyarrow.array(numbers, pyarrow.int32()), pyarrow.array(said, pyarrow.string())]
            yield pyarrow.RecordBatch.from_arrays(columns, ["number", "answer"])

    return work
