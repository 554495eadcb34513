"""Descriptions of a setup's clients, for readers of a scenario."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch

from kreplica.engine.plans.text import milliseconds
from kreplica.engine.setup import (
    Application,
    Client,
    Commit,
    ConsumerSetup,
    OnFailure,
    ProducerSetup,
    ReaderSetup,
    Send,
    Transaction,
    TransactionalSetup,
    TransformSetup,
)
from kreplica.model.wording.words import counted


def client_words(client: Client) -> str:
    """Describes in one line what the client does and when it begins; times in milliseconds, without settings."""
    return _does(client)


@singledispatch
def _does(client: Client) -> str:
    raise TypeError(client)


@_does.register
def _producer(client: ProducerSetup) -> str:
    each = ", each once the one before is answered" if client.sync else ""
    return f"sends {_sends(client.sends)}{each}"


@_does.register
def _transactional(client: TransactionalSetup) -> str:
    told = "; ".join(_transaction(one) for one in client.transactions)
    return f"writes in transactions{_from(client.start)}: {told}"


@_does.register
def _transform(client: TransformSetup) -> str:
    return (
        f"writes one record to {client.target} for each of {client.source}, up to {client.records} in a transaction"
        f" with the position of group {client.group}{_from(client.start)}"
    )


@_does.register
def _reader(client: ReaderSetup) -> str:
    return f"reads {', '.join(client.partitions)}{_from(client.start)}"


@_does.register
def _consumer(client: ConsumerSetup) -> str:
    until = f" until {milliseconds(client.stop)}" if client.stop else ""
    habits = "".join(f"; {habit}" for habit in _habits(client.application))
    late = "".join(f"; sees {partition} from {milliseconds(time)} on" for partition, time in client.sees.items())
    return f"subscribes to {', '.join(client.topics)}{_from(client.start)}{until}{habits}{late}"


def _habits(application: Application) -> Iterator[str]:
    """Describes how its application differs from processing each record at once and committing afterwards."""
    if application.processing:
        yield f"{milliseconds(application.processing)} for each record"
    for value, stall in application.stalls.items():
        yield f"{milliseconds(stall)} more for {value}"
    if application.hand_off:
        yield "another thread processes while it polls on"
    if application.commit is not Commit.AFTER:
        yield _COMMITS[application.commit]
    if application.fails_on:
        yield f"cannot process {', '.join(application.fails_on)}: {_failure(application)}"
    yield from _writes(application)
    for time, partition, offset in application.seeks:
        yield f"seeks offset {offset} of {partition} at {milliseconds(time)}"


def _writes(application: Application) -> Iterator[str]:
    if application.writes_to:
        how = ", in one transaction with its offsets" if application.transactional else ""
        yield f"writes a result to {application.writes_to} for each record{how}"
    if application.keeps_offsets:
        yield "keeps the offset with the result and refuses one that is not newer"


_COMMITS = {
    Commit.ASYNC: "commits without waiting for the answer",
    Commit.BEFORE: "commits before it processes",
    Commit.NEVER: "commits nothing itself",
}


def _failure(application: Application) -> str:
    return {
        OnFailure.AGAIN: f"tries again every {milliseconds(application.again_after)}",
        OnFailure.SKIP: "skips it",
        OnFailure.DEAD_LETTER: f"writes it to {application.dead_letters} and goes on",
        OnFailure.SET_ASIDE: f"goes on and reads it again after {milliseconds(application.again_after)}",
    }[application.on_failure]


def _transaction(one: Transaction) -> str:
    told = _sends(one.sends)
    offsets = f" with the offsets of group {one.group}" if one.offsets else ""
    ended = "committed" if one.commit else "aborted"
    return f"{told}{offsets}, {ended}" + (f" from {milliseconds(one.end)} on" if one.end else "")


def _sends(sends: tuple[Send, ...]) -> str:
    number = counted(len(sends), "record")
    if not sends:
        return "nothing"
    partitions = ", ".join(dict.fromkeys(send.partition for send in sends))
    first, last = min(send.at for send in sends), max(send.at for send in sends)
    when = f"at {milliseconds(first)}" if first == last else f"from {milliseconds(first)} to {milliseconds(last)}"
    return f"{number} to {partitions} {when}"


def _from(start: int) -> str:
    return f" from {milliseconds(start)} on" if start else ""
