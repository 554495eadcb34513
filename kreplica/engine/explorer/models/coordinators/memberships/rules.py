"""Rules of the models of a consumer group: the engine's under a release, and the same with one guard less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from kreplica.engine.explorer.models.coordinators.memberships.state import NONE, MembershipBounds
from kreplica.engine.rules.groups.assignors import even_assignment, uniform_assignor
from kreplica.engine.rules.groups.group_epochs import (
    Member,
    MemberState,
    after_heartbeat,
    may_assign,
    validate_heartbeat_epoch,
)
from kreplica.engine.rules.groups.member_heartbeats import names_partitions
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import Version

Reconciles = Callable[[Member, int, int, int, int, int], tuple[Member, int]]
"""The member after a heartbeat and its previous epoch, of: the member, that epoch so far, its target, the target's
epoch, the partitions that it names or ``NONE``, those that any member holds."""

Validates = Callable[[int, int, int, int, int, bool], ErrorCode]
"""The error for a heartbeat: its epoch, the member's, the one before, the partitions that it names or ``NONE``, those
that are assigned to it, whether a known member may join again."""

INTERVAL = 1
"""group.consumer.assignment.interval.ms where it is not 0: a heartbeat comes within it, or after it."""


@dataclass(frozen=True, slots=True)
class MembershipRules:
    """The rules in which the models differ.

    Args:
        version: The release.
        reconciles: See above.
        validates: See above.
        names: Whether a client names its partitions: whether it joins, whether it has named its present assignment.
        abandons: Whether a client that is fenced gives up its partitions before it joins again.
        gives_up_first: Whether a client that takes over an assignment has given up the others when it says so.
        tells_all: Whether a client that names its partitions names those, too, that it is to take over.
        raises_epoch: Whether the group epoch rises when a member goes.
    """

    version: Version
    reconciles: Reconciles
    validates: Validates
    names: Callable[[bool, bool], bool]
    abandons: bool = True
    gives_up_first: bool = True
    tells_all: bool = False
    raises_epoch: bool = True

    @property
    def interval(self) -> int:
        """0 if a heartbeat always assigns where the group has changed."""
        return INTERVAL if self.version.defaults["group.consumer.assignment.interval.ms"] else 0


def reconciles(
    member: Member, previous_epoch: int, target: int, assignment_epoch: int, owned: int, held: int
) -> tuple[Member, int]:
    """The engine's step of a member."""
    if owned == NONE:
        return after_heartbeat(member, previous_epoch, target, assignment_epoch, None, held)
    return after_heartbeat(member, previous_epoch, target, assignment_epoch, owned, held)


def validates(
    sent_epoch: int, member_epoch: int, previous_epoch: int, owned: int, assigned: int, rejoins: bool
) -> ErrorCode:
    """The engine's judgement of a heartbeat."""
    if owned == NONE:
        return validate_heartbeat_epoch(sent_epoch, member_epoch, previous_epoch, None, assigned, rejoins)
    return validate_heartbeat_epoch(sent_epoch, member_epoch, previous_epoch, owned, assigned, rejoins)


def assigns(group_epoch: int, assignment_epoch: int, begins: int, waited: int, interval: int) -> bool:
    """The engine's judgement whether a heartbeat assigns, so long after the last assignment."""
    if assignment_epoch == begins:
        return may_assign(group_epoch, assignment_epoch, None, 0, interval)
    return may_assign(group_epoch, assignment_epoch, 0, waited, interval)


def assignments(bounds: MembershipBounds, version: Version) -> tuple[int, ...]:
    """The target assignment after each one before, by the engine's assignor: a number for each set of members, for each
    number of the target before. A number has a digit for each partition, 1 + the client or 0 for nobody.
    """
    owners = list(product(range(bounds.clients + 1), repeat=bounds.partitions))
    return tuple(
        number_of(_assigned(bounds, version, known, before[::-1]), bounds.clients)
        for known in range(1 << bounds.clients)
        for before in owners
    )


def number_of(owners: tuple[int, ...], clients: int) -> int:
    """The number of a target assignment: the digit of partition 0 is the last."""
    number = 0
    for owner in reversed(owners):
        number = number * (clients + 1) + owner
    return number


def _assigned(bounds: MembershipBounds, version: Version, known: int, before: tuple[int, ...]) -> tuple[int, ...]:
    members = {str(client): client for client in range(bounds.clients) if known >> client & 1}
    held = {
        name: [("topic", one) for one, owner in enumerate(before) if owner == client + 1]
        for name, client in members.items()
    }
    uniform = partial(uniform_assignor, more_stays=version.more_stays)
    subscriptions = dict.fromkeys(members, ("topic",))
    found = even_assignment(uniform, held, subscriptions, {"topic": bounds.partitions})
    owner = {partition: 1 + members[name] for name, has in found.items() for _, partition in has}
    return tuple(owner.get(partition, 0) for partition in range(bounds.partitions))


def gives_at_once(
    member: Member, previous_epoch: int, target: int, assignment_epoch: int, owned: int, _held: int
) -> tuple[Member, int]:
    """Assigns what other members have not given up yet."""
    return reconciles(member, previous_epoch, target, assignment_epoch, owned, 0)


def revokes_at_once(
    member: Member, previous_epoch: int, target: int, assignment_epoch: int, _owned: int, held: int
) -> tuple[Member, int]:
    """Takes partitions for given up before the member has said so."""
    return reconciles(member, previous_epoch, target, assignment_epoch, 0, held)


def raises_at_once(
    member: Member, previous_epoch: int, target: int, assignment_epoch: int, owned: int, held: int
) -> tuple[Member, int]:
    """Puts a member into the epoch of its target while it has partitions to give up."""
    after, previous = reconciles(member, previous_epoch, target, assignment_epoch, owned, held)
    if after.state == MemberState.UNREVOKED_PARTITIONS:
        return Member(after.state, assignment_epoch, after.assigned, after.pending_revocation), previous
    return after, previous


def validates_nothing(
    _sent_epoch: int, _member_epoch: int, _previous_epoch: int, _owned: int, _assigned: int, _rejoins: bool
) -> ErrorCode:
    """Accepts a heartbeat whatever its epoch is."""
    return ErrorCode.NONE


def names_always(_joins: bool, _named_before: bool) -> bool:
    """Names the partitions in every heartbeat."""
    return True


def rules_of(version: str) -> MembershipRules:
    """The engine's rules under a release."""
    return MembershipRules(version_named(version), reconciles, validates, names_partitions)


KAFKA_4_1 = rules_of("4.1")
KAFKA_4_2 = rules_of("4.2")
KAFKA_4_3 = rules_of("4.3")

MENDED = replace(KAFKA_4_3, tells_all=True)
"""The rules of 4.3; a client that names its partitions names those, too, that it is to take over."""

MUTANTS = {
    "m1": replace(KAFKA_4_2, reconciles=gives_at_once),
    "m2": replace(KAFKA_4_2, reconciles=revokes_at_once),
    "m3": replace(KAFKA_4_2, gives_up_first=False),
    "m4": replace(KAFKA_4_2, names=names_always),
    "m5": replace(KAFKA_4_2, reconciles=raises_at_once),
    "m6": replace(KAFKA_4_2, abandons=False),
    "m7": replace(KAFKA_4_2, validates=validates_nothing),
    "m8": replace(KAFKA_4_2, raises_epoch=False),
}
"""The rules of 4.2 with one guard less."""
