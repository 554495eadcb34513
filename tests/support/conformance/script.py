"""The vocabulary of rows: steps that can be done to a real cluster and in the simulator alike.

A row has one topic of one partition. Its brokers are numbered 1, 2, 3, ...; in ZooKeeper mode broker 1 is the
controller. Which brokers of the cluster these are is chosen when the row is played.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance.timers import Timer

ALL = -1
"""acks=all."""


class Action:
    """Base of all actions."""


@dataclass(frozen=True, slots=True)
class Kill(Action):
    """A broker ends by SIGKILL; what it wrote stays in the page cache."""

    broker: int


@dataclass(frozen=True, slots=True)
class ShutDown(Action):
    """A broker ends in order, by SIGTERM."""

    broker: int


@dataclass(frozen=True, slots=True)
class Start(Action):
    """A broker that has ended starts."""

    broker: int


@dataclass(frozen=True, slots=True)
class Pause(Action):
    """A broker stands still, by SIGSTOP."""

    broker: int


@dataclass(frozen=True, slots=True)
class Resume(Action):
    """A broker goes on, by SIGCONT."""

    broker: int


@dataclass(frozen=True, slots=True)
class KillController(Action):
    """The active KRaft controller ends by SIGKILL."""


@dataclass(frozen=True, slots=True)
class StartController(Action):
    """The KRaft controller that has ended starts."""


@dataclass(frozen=True, slots=True)
class CutController(Action):
    """What the active KRaft controller and others send each other does not arrive, until ``RestoreController``.

    Args:
        brokers: Those it is cut off from; without any, the other controllers.
    """

    brokers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RestoreController(Action):
    """What controllers were cut off from reaches them again."""


@dataclass(frozen=True, slots=True)
class Produce(Action):
    """A new producer without retries and without idempotence sends one record after the other, and waits for each.

    Args:
        values: Values of the records.
        acks: 0, 1 or ALL.
    """

    values: tuple[str, ...]
    acks: int = ALL


@dataclass(frozen=True, slots=True)
class Consume(Action):
    """A new consumer without a group reads from offset 0 to the end that it is given."""

    committed: bool = False


@dataclass(frozen=True, slots=True)
class Join(Action):
    """A new consumer joins the row's group, reads from what is committed to the end, commits, and leaves.

    Args:
        commits: False for one that does not commit.
    """

    commits: bool = True


@dataclass(frozen=True, slots=True)
class Begin(Action):
    """A transactional producer begins a transaction and sends records; its first time it starts and is given its id.

    Args:
        producer: Its name.
        values: Values of the records.
        id: Its transactional.id: two producers that have the same fence each other.
        timeout: transaction.timeout.ms, in seconds.
    """

    producer: str
    values: tuple[str, ...]
    id: str = "billing"
    timeout: int = 60


@dataclass(frozen=True, slots=True)
class End(Action):
    """A transactional producer commits or aborts; one that is never asked to is as good as killed."""

    producer: str
    commit: bool = True


@dataclass(frozen=True, slots=True)
class FailDisk(Action):
    """The log directory of the partition fails on a broker that has another one."""

    broker: int


@dataclass(frozen=True, slots=True)
class Cut(Action):
    """What one broker sends another does not arrive."""

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Restore(Action):
    """What one broker sends another arrives again; what was sent over connections that have ended is lost."""

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Wait(Action):
    """Nothing is done for a while: fetches that wait at a leader have their answers (replica.fetch.wait.max.ms)."""

    seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Together(Action):
    """Actions one after the other without a look in between, sooner than any timer.

    Args:
        actions: In order.
    """

    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class ElectPreferred(Action):
    """An operator asks for the preferred leader."""


@dataclass(frozen=True, slots=True)
class ElectUnclean(Action):
    """An operator asks for an unclean election."""


@dataclass(frozen=True, slots=True)
class Reassign(Action):
    """An operator moves the partition; the first replica is preferred."""

    replicas: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CancelMove(Action):
    """An operator cancels the move."""


@dataclass(frozen=True, slots=True)
class SetTopic(Action):
    """An operator changes a setting of the topic."""

    setting: str
    value: str


@dataclass(frozen=True, slots=True)
class Step:
    """One action, and the time that it takes to have its effect.

    Args:
        do: The action.
        seconds: Virtual time after which the engine is read: every timer that the action concerns is over by then.
        timer: The timer that decides when brokers show the effect. Of one that is shorter than the session the time is
            the timer's own, so that the next step comes before the session is over.
        holds: Seconds that real brokers are left alone before they are read: for what must not happen.
    """

    do: Action
    seconds: float = 30
    timer: Timer = Timer.NONE
    holds: float = 0


@dataclass(frozen=True, slots=True)
class Explained:
    """A difference that is known to be Kafka's, or the reading's, and not a wrong rule.

    Args:
        step: Number of the step, from 1; 0 is before the first.
        what: Beginning of the names of what differs.
        source: Issue, or Kafka's class, that says so.
    """

    step: int
    what: str
    source: str


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table of conformance.

    Args:
        name: Words with hyphens.
        title: What it shows, in a sentence.
        steps: In order.
        replicas: The assignment, the preferred leader first.
        brokers: Number of brokers that take part.
        settings: The topic's settings.
        modes: Modes in which it is played.
        controllers: Number of KRaft controllers of its cluster.
        explained: Differences that are known.
    """

    name: str
    title: str
    steps: tuple[Step, ...]
    replicas: tuple[int, ...] = (1, 2, 3)
    brokers: int = 3
    settings: Mapping[str, str] = field(default_factory=lambda: {"min.insync.replicas": "2"})
    modes: tuple[str, ...] = ("kraft", "zookeeper")
    controllers: int = 1
    explained: tuple[Explained, ...] = ()

    @property
    def transacts(self) -> bool:
        """True if it needs transactions."""
        return self._has(Begin)

    @property
    def commits(self) -> bool:
        """True if it needs a group."""
        return self._has(Join)

    def _has(self, kind: type[Action]) -> bool:
        return any(isinstance(action, kind) for step in self.steps for action in parts(step.do))


def parts(action: Action) -> tuple[Action, ...]:
    """The actions of ``Together``, or the one."""
    return action.actions if isinstance(action, Together) else (action,)
