"""The rate of a plan that another process carries out: asked for by a file beside the plan, ``PLAN.throttle``.

    {"schema": "kreplica/throttle/v1", "plan": "sha256:...", "pid": 4711, "id": "...", "rate": 5000000}

The journal has one writer, the run, which alone changes throttles: so it knows its own changes from those of others,
and what it set is put back after a kill. The file is written as a whole, for the process that the journal names; the
run takes it by a rename, so that a later request is never lost with an earlier one, notes it in the journal with its
id, and then sets the rate. The journal is the answer. A request for another plan or another process is thrown away.
"""

from __future__ import annotations

import os
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from kreplica.errors import ChangeRefusedError, ExitCode, UsageError, os_reason
from kreplica.execution.moves.plan_state import MovePlanState, open_replica_plan
from kreplica.execution.moves.plans.journal import MOVE_JOURNAL, Entry, Event, RateNote
from kreplica.execution.moves.throttles.rate_changes import RateRequest
from kreplica.execution.moves.throttles.rate_warnings import small_rate
from kreplica.execution.plan_journal import Phase
from kreplica.model.tables.rows import Int32, Meaning
from kreplica.system.durable_files import write_whole
from kreplica.system.untrusted_files import MalformedError, decode_json, read_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SCHEMA = "kreplica/throttle/v1"
ANSWER_SECONDS = 30.0
"""Seconds in which a run has to take a request."""

PAUSE_SECONDS = 0.2
_MOST_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class _RequestFile:
    schema: str
    plan: str
    pid: int
    id: str
    rate: int


class RateRow(Struct, frozen=True):
    """A rate that a run changes because it was asked to."""

    broker: Annotated[Int32, Meaning("broker id")]
    setting: Annotated[str, Meaning("name of the setting")]
    before: Annotated[str | None, Meaning("bytes a second before, null where the broker had no value of its own")]
    rate: Annotated[int, Meaning("bytes a second that the run sets")]


@dataclass(frozen=True, slots=True)
class ChangedRate:
    """The rate of a plan after a run was asked for another one.

    Args:
        state: The plan.
        rate: Bytes a second for each broker that were asked for.
        rows: Rates that the run changes.
        warnings: What the user has to know besides.
    """

    state: MovePlanState
    rate: int
    rows: Sequence[RateRow] = ()
    warnings: Sequence[str] = ()
    exit_code: ExitCode = ExitCode.OK

    @property
    def brokers(self) -> int:
        """Number of brokers whose rate changes."""
        return len({row.broker for row in self.rows})


def request_path(plan_path: Path) -> Path:
    """Path of the file by which a plan's run is asked for another rate."""
    return plan_path.with_name(f"{plan_path.name}.throttle")


def rebalance_throttle(path: Path, rate: int, *, wait: float = ANSWER_SECONDS) -> ChangedRate:
    """Changes the rate of a plan of replicas that is being carried out, by the run itself; asks no cluster.

    Args:
        path: The plan's file.
        rate: Bytes a second for each broker.
        wait: Seconds in which the run has to take the request.

    Raises:
        InputError: The plan or its journal cannot be read.
        ChangeRefusedError: No process is carrying out the plan, or it did not take the request.
        UsageError: The request cannot be written.
    """
    state = open_replica_plan(path)
    if not state.running:
        raise state.refusal("no process is carrying it out, so that no rate can be changed", _instead(state, rate))
    entries, _ = MOVE_JOURNAL.read(path, state.digest)
    asked = RateRequest(uuid.uuid4().hex, rate)
    _write(path, state.digest, _runner(entries), asked)
    taken = _taken(path, state.digest, asked, wait)
    if taken is None:
        raise ChangeRefusedError(
            f"{path}: the run has not changed its rate", _why_not(path, state.digest, wait), "see its own messages"
        )
    return ChangedRate(state, rate, [_row(note) for note in taken.rates], small_rate(rate))


def _instead(state: MovePlanState, rate: int) -> str:
    if state.progress.phase is Phase.NEW:
        return f"begin it: kreplica rebalance apply {state.path} --throttle {rate} --execute"
    if state.under_way or state.progress.owed or state.progress.phase in (Phase.APPLYING, Phase.ROLLING_BACK):
        return f"go on with it: kreplica rebalance resume {state.path} --throttle {rate} --execute"
    return "it has ended: there is nothing to throttle"


def _runner(entries: Sequence[Entry]) -> int:
    """Process id of the last run; 0 where none has noted its own yet."""
    return next((one.pid for one in reversed(entries) if one.event is Event.STARTED and one.pid is not None), 0)


def _write(path: Path, digest: str, pid: int, asked: RateRequest) -> None:
    import msgspec

    content = msgspec.json.encode(_RequestFile(SCHEMA, digest, pid, asked.id, asked.rate)) + b"\n"
    target = request_path(path)
    try:
        write_whole(target, content, replace=True)
    except OSError as error:
        raise UsageError(f"cannot write {target}", os_reason(error)) from None


def _taken(path: Path, digest: str, asked: RateRequest, wait: float) -> Entry | None:
    """The journal's line that answers a request; None where the run has ended or does not take it in time."""
    deadline = time.monotonic() + wait
    while True:
        entries, running = MOVE_JOURNAL.read(path, digest)
        answer = next((one for one in reversed(entries) if asked.id in one.message), None)
        if answer is not None:
            return answer
        if not running or time.monotonic() > deadline:
            break
        time.sleep(PAUSE_SECONDS)
    with suppress(OSError):
        request_path(path).unlink()  # a later run must not find it
    entries, _ = MOVE_JOURNAL.read(path, digest)
    return next((one for one in reversed(entries) if asked.id in one.message), None)


def _why_not(path: Path, digest: str, wait: float) -> str:
    running = MOVE_JOURNAL.read(path, digest)[1]
    return f"it did not answer for {wait:g} s" if running else "it has ended meanwhile"


def _row(note: RateNote) -> RateRow:
    return RateRow(note.broker, note.name, note.before, note.value)


def requests_of(path: Path, digest: str) -> Callable[[], RateRequest | None]:
    """Gives the requests that are made of this process for a plan, each once; None where there is none.

    Args:
        path: The plan's file.
        digest: The plan's digest.
    """
    return lambda: _claim(request_path(path), digest)


def _claim(path: Path, digest: str) -> RateRequest | None:
    claimed = path.with_name(f"{path.name}.taken")
    try:
        path.rename(claimed)
        content = read_whole(claimed, _MOST_BYTES, named=False)
        claimed.unlink()
        found: _RequestFile = decode_json(content, _RequestFile)
    except (OSError, MalformedError):
        return None
    meant = found.schema == SCHEMA and found.plan == digest and found.pid == os.getpid()
    return RateRequest(found.id, found.rate) if meant and found.rate > 0 else None
