"""Counterexamples of producers that send again, as plans for the scenario ``retry-duplicate``.

A record is sent when the scenario's application does, everything else follows in the order of the counterexample. A
request that arrives later than it could has a slow link when it is sent; one that is sent again is so after
retry.backoff.ms, and arrives at once. What never arrives would after the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.models.clients.retries import RetriesState
from kreplica.engine.explorer.models.clients.traces.producers import BROKER, WRITER
from kreplica.engine.fault_plan import At, BreakConnection, RefuseRequest, Slow, Step, in_order
from kreplica.engine.plans.file import PlanFile
from kreplica.engine.plans.omissions import LeaveOut
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup
from kreplica.engine.versions.supported import LATEST
from kreplica.scenarios.library.producers.retry_duplicate import SCENARIO

IN_FLIGHT, IDEMPOTENCE = "max.in.flight.requests.per.connection", "enable.idempotence"
APART, BACKOFF = 100 * MILLISECOND, SECOND
"""Time from one step to the next, and until the producer sends again."""
NEVER = 2 * SCENARIO.setup.duration
SENDING = MILLISECOND
"""Time before and after a request is sent in which its link is slow."""
SETTINGS = {"request.timeout.ms": "30000", "retry.backoff.ms": str(BACKOFF // MILLISECOND)}
MENDS = {"no-duplicate": {IDEMPOTENCE: "true"}, "in-order": {IN_FLIGHT: "1"}}
"""By invariant the setting that keeps it. Of a producer that it does not know a leader takes any batch for the first
one (KIP-360): where the first is refused, enable.idempotence keeps the order at the price of that batch.
"""


def producer_plan(model: Model, steps: Sequence[Taken]) -> PlanFile | None:
    """The plan of a counterexample; None if the scenario sends fewer records, or not late enough for its steps.

    Args:
        model: One of the models of producers.
        steps: The counterexample.
    """
    requests = _requests(model.initial, steps)
    sent = [request for request in requests if not request.again]
    sends = _sends()
    times = _times(steps, requests, sends) if len(sent) <= len(sends) else None
    if times is None:
        return None
    one = {IN_FLIGHT: "1"} if model.name == "retries-one" else {}
    faults = [*_slow(steps, sent, times, sends), *_faults(steps, times)]
    return PlanFile(
        scenario=SCENARIO.name,
        kafka_version=LATEST.name,
        settings={**SETTINGS, **one},
        leave_out=LeaveOut(records={WRITER: (0, len(sent))}),
        steps=in_order(faults),
    )


def _sends() -> list[int]:
    """Times at which the scenario's application sends its records."""
    (writer,) = (client for client in SCENARIO.setup.clients if isinstance(client, ProducerSetup))
    return [send.at for send in writer.sends]


@dataclass(slots=True)
class _Request:
    """A request of a counterexample.

    Args:
        record: Its record.
        sent: Place of the step by which it is sent.
        again: Whether its record was sent before.
        arrives: Place of the step by which the leader takes or refuses it; None if it does not.
        broken: Whether its connection breaks before.
    """

    record: int
    sent: int
    again: bool
    arrives: int | None = None
    broken: bool = False
    failed: int = field(default=0)
    """Place of the step for which its record is sent again."""


def _requests(initial: RetriesState, steps: Sequence[Taken]) -> list[_Request]:
    """The requests in the order in which they are sent."""
    found, line, old, failed = list[_Request](), list[_Request](), list[_Request](), dict[int, int]()
    before = initial
    for place, step in enumerate(steps):
        name = step.action.name
        if name in ("send", "send-again"):
            record = before.sent[0] if name == "send" else step.chosen[0]
            found.append(_Request(record, place, name == "send-again", failed=failed.get(record, 0)))
            line.append(found[-1])
        elif name in ("arrive", "refuse", "arrive-late"):
            request = (old if name == "arrive-late" else line).pop(0)
            request.arrives = place
            failed[request.record] = place
        elif name == "break":
            for request in line:
                request.broken, failed[request.record] = True, place
            old, line = [*old, *line], []
        before = step.state
    return found


def _times(steps: Sequence[Taken], requests: Sequence[_Request], sends: Sequence[int]) -> list[int] | None:
    """The time of each step; None if one would have to come after the next record is sent."""
    taken = {request.arrives: request for request in requests}
    time, sent, found = 0, 0, list[int]()
    for place, step in enumerate(steps):
        if step.action.name == "send":
            if sends[sent] < time + APART:
                return None
            time, sent = sends[sent], sent + 1
        else:
            request = taken.get(place)
            again = found[request.failed] + BACKOFF if request is not None and request.again else 0
            time = max(time + APART, again)
        found.append(time)
    return found


def _slow(
    steps: Sequence[Taken], sent: Sequence[_Request], times: Sequence[int], sends: Sequence[int]
) -> Iterator[Step]:
    """Slows each request that is not taken as soon as it is sent."""
    at_once = {place for place, step in enumerate(steps) if step.action.name == "arrive"}
    end = times[-1] + APART
    for request, at in zip(sent, sends, strict=False):
        if request.sent + 1 in at_once and request.arrives == request.sent + 1:
            continue
        arrives = times[request.arrives] if request.arrives is not None else NEVER if request.broken else end
        yield Step(At(at - SENDING), Slow(WRITER, BROKER, arrives - at, 2 * SENDING, one_way=True))


def _faults(steps: Sequence[Taken], times: Sequence[int]) -> Iterator[Step]:
    for step, time in zip(steps, times, strict=True):
        if step.action.name == "break":
            yield Step(At(time), BreakConnection(WRITER, BROKER))
        elif step.action.name == "refuse":
            error = ErrorCode.NOT_ENOUGH_REPLICAS.name
            yield Step(At(time - APART // 2), RefuseRequest(WRITER, BROKER, "Produce", error))
