"""Brokers that a plan drains, cordoned while it is carried out, and replicas that appear on them all the same.

New topics, and new partitions, land on a broker that is being drained. From Kafka 4.3 on its log directories can be
cordoned (``cordoned.log.dirs``, KIP-1066): the controller then puts nothing there by itself. The broker's own value of
before is in the journal before another one is set, and is put back when nothing is in flight. A value that somebody
else has set meanwhile is left. The way back begins with that: it puts replicas onto these brokers again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from kreplica.errors import ChangeRefusedError
from kreplica.execution.moves.plans.journal import CordonNote, Event, entry
from kreplica.model.cordons import EVERY_DIRECTORY, SETTING
from kreplica.model.wording.words import are, counted, ids, listed, named

if TYPE_CHECKING:
    from kreplica.control.settings import SettingResult
    from kreplica.execution.moves.plans.change import ReplicaChange
    from kreplica.execution.moves.plans.journal import Entry
    from kreplica.execution.moves.plans.plan import ReplicaPlan
    from kreplica.execution.plan_journal import Operation
    from kreplica.model.snapshot import ClusterSnapshot


class CordonedCluster(Protocol):
    """A cluster whose brokers can be cordoned."""

    def cordons(self, brokers: Iterable[int]) -> Mapping[int, str | None]:
        """Each broker's own value, None where it has none; those that know no such setting, or are down, left out."""

    def set_cordons(self, values: Mapping[int, str | None]) -> Mapping[int, SettingResult]:
        """Sets brokers' own values, or deletes them."""


def cordon(
    cluster: CordonedCluster, write: Callable[[Entry], None], operation: Operation, brokers: Iterable[int]
) -> tuple[str, ...]:
    """Cordons brokers that are not; returns clauses on those that refuse it."""
    found = cluster.cordons(brokers)
    notes = tuple(CordonNote(broker, value) for broker, value in found.items() if value != EVERY_DIRECTORY)
    if not notes:
        return ()
    write(entry(Event.CORDONING, operation, cordons=notes))
    results = cluster.set_cordons({note.broker: EVERY_DIRECTORY for note in notes})
    failed = tuple(note for note in notes if results[note.broker].error.isupper())
    if failed:  # an answer that never came may have been a yes
        write(entry(Event.RELEASED, operation, cordons=failed))
    return tuple(f"broker {one.broker} is not cordoned: {results[one.broker].error}" for one in failed)


def uncordon(
    cluster: CordonedCluster, write: Callable[[Entry], None], operation: Operation, owed: Mapping[int, CordonNote]
) -> tuple[str, ...]:
    """Puts back what brokers had before; returns clauses on what is left, or was left to somebody else."""
    if not owed:
        return ()
    found = cluster.cordons(owed)
    ours = {broker: note.before for broker, note in owed.items() if found.get(broker) == EVERY_DIRECTORY}
    results = cluster.set_cordons(ours)
    over = tuple(note for broker, note in owed.items() if broker in found and _is_over(broker, results))
    if over:
        write(entry(Event.RELEASED, operation, cordons=over))
    left = sorted(set(owed) - {note.broker for note in over})
    return tuple(f"broker {broker} is still cordoned: resume puts back what was" for broker in left)


def closed_to_way_back(
    cluster: CordonedCluster, back: Iterable[ReplicaChange], owed: Collection[int]
) -> ChangeRefusedError | None:
    """Refusal of changes that put replicas back onto brokers that somebody keeps cordoned; None where none is.

    Kafka takes such a reassignment (up to 4.3.1). Who keeps a cordon wants nothing there, and who rolls back wants the
    replicas there: only the operator knows which of both is over.

    Args:
        cluster: The cluster.
        back: Changes of the way back.
        owed: Brokers whose cordon the plan puts back itself.
    """
    wanted = Counter(broker for change in back for broker in change.adding if broker not in owed)
    found = cluster.cordons(wanted) if wanted else {}
    closed = sorted(broker for broker, value in found.items() if value == EVERY_DIRECTORY)
    if not closed:
        return None
    number = sum(wanted[broker] for broker in closed)
    brokers = f"{named('broker', closed)} {are(len(closed))} cordoned"
    lines = map(_UNCORDON.format, closed)
    return ChangeRefusedError(
        f"{brokers}, and {counted(number, 'replica')} would go back there",
        "a cordoned broker takes no new replica",
        f"take the cordon away first: {'; '.join(lines)}",
    )


_UNCORDON = (
    "kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type brokers --entity-name {}"
    f" --delete-config {SETTING}"
)


def _is_over(broker: int, results: Mapping[int, SettingResult]) -> bool:
    return broker not in results or results[broker].made


def arrived(snapshot: ClusterSnapshot, plan: ReplicaPlan) -> tuple[str, ...]:
    """Clauses on replicas that drained brokers have and the plan does not move."""
    moved = {change.key for change in plan.changes}
    topics, numbers = snapshot.strings("topic"), snapshot.integers("partition")
    replicas = snapshot.lists("replicas")
    keys = [(str(topics[row]), int(numbers[row] or 0), replicas[row] or ()) for row in range(len(topics))]
    found = []
    for broker in plan.drained:
        new = [f"{topic}-{number}" for topic, number, on in keys if broker in on and (topic, number) not in moved]
        if new:
            found.append(
                f"broker {broker} has {counted(len(new), 'replica')} that the plan does not move: {listed(new, 3)}"
            )
    return tuple(found)


def still_cordoned(owed: Mapping[int, CordonNote]) -> tuple[str, ...]:
    """Clause on brokers whose cordon is to be put back."""
    return (f"the cordon of brokers {ids(sorted(owed))} is still to be put back",) if owed else ()
