"""Assignment of partitions to the members of a group.

Up to 4.0, and after with group.protocol=classic, one of the members computes it (partition.assignment.strategy); with
KIP-848 the coordinator does (group.remote.assignor). Racks are left out: without racks on both sides Kafka's assignors
do the same as these.

Partitions are pairs of topic and number. ``members`` are member ids; with static membership (KIP-345) those with an
instance id come first, in the order of their instance ids.
"""

from collections.abc import Callable, Mapping, Sequence

TopicPartition = tuple[str, int]
Assignment = dict[str, tuple[TopicPartition, ...]]


def member_order(members: Sequence[str], instances: Mapping[str, str] | None = None) -> list[str]:
    """Members as client-side assignors sort them: static ones by instance id, then the others by member id.

    AbstractPartitionAssignor.MemberInfo.compareTo; member ids alone before 2.4.
    """
    known = instances or {}
    return sorted(members, key=lambda member: (member not in known, known.get(member, member)))


def range_assignor(
    subscriptions: Mapping[str, Sequence[str]],
    partitions: Mapping[str, int],
    instances: Mapping[str, str] | None = None,
) -> Assignment:
    """Each topic by itself, in consecutive ranges; the first members get one more.

    RangeAssignor: the only default up to 2.8, the first of two since (with cooperative-sticky). If topics have the same
    number of partitions, those with the same partition number go to the same member.

    Args:
        subscriptions: The topics of each member.
        partitions: How many partitions each topic has.
        instances: The instance id of each static member.
    """
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in subscriptions}
    for topic, count in partitions.items():
        readers = member_order([member for member, topics in subscriptions.items() if topic in topics], instances)
        begin = 0
        for place, member in enumerate(readers):
            end = begin + count // len(readers) + (place < count % len(readers))
            assigned[member] += [(topic, number) for number in range(begin, end)]
            begin = end
    return {member: tuple(held) for member, held in assigned.items()}


def round_robin_assignor(
    subscriptions: Mapping[str, Sequence[str]],
    partitions: Mapping[str, int],
    instances: Mapping[str, str] | None = None,
) -> Assignment:
    """All partitions of all topics dealt out in turn; members that do not subscribe to a topic are skipped.

    RoundRobinAssignor. The arguments are those of range_assignor.
    """
    order = member_order(list(subscriptions), instances)
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in subscriptions}
    turn = 0
    for topic in sorted({topic for topics in subscriptions.values() for topic in topics} & partitions.keys()):
        for number in range(partitions[topic]):
            while topic not in subscriptions[order[turn % len(order)]]:
                turn += 1
            assigned[order[turn % len(order)]].append((topic, number))
            turn += 1
    return {member: tuple(held) for member, held in assigned.items()}


def sticky_assignor(owned: Mapping[str, Sequence[TopicPartition]], partitions: Mapping[str, int]) -> Assignment:
    """Shares as even as possible, with as many partitions as possible staying where they are.

    AbstractStickyAssignor.ConstrainedAssignmentBuilder, of StickyAssignor (0.11, KIP-54) and CooperativeStickyAssignor
    (2.4, KIP-429), for members that all subscribe to the same topics. Each member keeps what it has, up to its share;
    the rest goes to the members with less than the smaller share, in turn, then one each to those with exactly that.

    Args:
        owned: What each member has; no partition twice. Members in the order of the group.
        partitions: How many partitions each subscribed topic has.
    """
    every = [(topic, number) for topic in sorted(partitions) for number in range(partitions[topic])]
    smaller, larger_shares = divmod(len(every), len(owned))
    kept: dict[str, list[TopicPartition]] = {}
    for member, has in owned.items():
        mine = sorted((one for one in has if one in every), key=lambda one: (one[1], one[0]))
        larger = larger_shares > 0 and len(mine) > smaller
        larger_shares -= larger
        kept[member] = mine[: smaller + larger]
    taken = {one for has in kept.values() for one in has}
    _deal([one for one in every if one not in taken], kept, smaller)
    return {member: tuple(has) for member, has in kept.items()}


def _deal(unassigned: list[TopicPartition], kept: dict[str, list[TopicPartition]], smaller: int) -> None:
    """Deals partitions to those below the smaller share in turn, then one each to those that have exactly it."""
    below = sorted(member for member, has in kept.items() if len(has) < smaller)
    exact = sorted(member for member, has in kept.items() if len(has) == smaller)
    turn = 0
    for one in unassigned:
        if below:
            turn %= len(below)
            member = below[turn]
            turn += 1
        else:
            member = exact.pop(0)
        kept[member].append(one)
        if below and len(kept[member]) == smaller:
            turn -= 1
            below.remove(member)
            exact.append(member)


def cooperative_adjustment(owned: Mapping[str, Sequence[TopicPartition]], assignment: Assignment) -> Assignment:
    """The first round of a cooperative rebalance: no member gets a partition that another still has.

    CooperativeStickyAssignor.adjustAssignment, since 2.4 (KIP-429): members that have to give partitions up do so and
    join again, and the second round hands them out. All members read on meanwhile, unlike in an eager group.

    Args:
        owned: The partitions that each member has.
        assignment: The partitions that each member shall have in the end.
    """
    held = {one: member for member, has in owned.items() for one in has}
    return {
        member: tuple(one for one in shall if held.get(one, member) == member) for member, shall in assignment.items()
    }


def uniform_assignor(
    assigned: Mapping[str, Sequence[TopicPartition]], partitions: Mapping[str, int], more_stays: bool = True
) -> Assignment:
    """Assigns as a coordinator of KIP-848's protocol does by default if all members subscribe to the same topics.

    UniformHomogeneousAssignmentBuilder: each member keeps as much of its target as fits its share; the other partitions
    go to members with room, in the coordinator's order, first those that no member has.

    Args:
        assigned: The target assignment so far, members in the coordinator's order.
        partitions: How many partitions each subscribed topic has.
        more_stays: A member with one more than the others may keep it, since 4.0.1 (KAFKA-18688). In 4.0.0 the first
            members had one more, so that partitions moved although the shares were even.
    """
    every = [(topic, number) for topic in partitions for number in range(partitions[topic])]
    shares = _uniform_shares([sum(one in every for one in has) for has in assigned.values()], len(every), more_stays)
    quota = dict(zip(assigned, shares, strict=True))
    kept = {member: [one for one in has if one in every][: quota[member]] for member, has in assigned.items()}
    held = {one for has in assigned.values() for one in has}
    stays = {one for has in kept.values() for one in has}
    free = [one for one in every if one not in held]
    free += [one for has in assigned.values() for one in has if one in every and one not in stays]
    for member, has in kept.items():
        room = quota[member] - len(has)
        has.extend(free[:room])
        free = free[room:]
    return {member: tuple(has) for member, has in kept.items()}


def _uniform_shares(sizes: list[int], partitions: int, more_stays: bool) -> list[int]:
    """Returns the number for each member. One more goes to members that have it already, and else to the last ones."""
    share, more = divmod(partitions, len(sizes))
    shares: list[int] = []
    for place, size in enumerate(sizes):
        left = len(sizes) - place
        gets_more = more > 0 and (not more_stays or size > share or left == more)
        more -= gets_more
        shares.append(share + gets_more)
    return shares


def even_assignment(
    assign: Callable[[Mapping[str, Sequence[TopicPartition]], Mapping[str, int]], Assignment],
    owned: Mapping[str, Sequence[TopicPartition]],
    subscriptions: Mapping[str, Sequence[str]],
    partitions: Mapping[str, int],
) -> Assignment:
    """Assigns by sticky_assignor or uniform_assignor; topic by topic if members subscribe to different topics.

    For those Kafka has general algorithms (AbstractStickyAssignor.GeneralAssignmentBuilder,
    UniformHeterogeneousAssignmentBuilder), which balance over topics too: each topic by itself is as even with them.

    Args:
        assign: sticky_assignor or uniform_assignor.
        owned: The partitions that each member has.
        subscriptions: The topics of each member.
        partitions: Number of partitions of each topic.
    """
    if not owned:
        return {}
    wanted = {
        topic: count for topic, count in partitions.items() if any(topic in has for has in subscriptions.values())
    }
    if len({frozenset(topics) for topics in subscriptions.values()}) == 1:
        return assign(owned, wanted)
    found: dict[str, list[TopicPartition]] = {member: [] for member in owned}
    for topic, count in wanted.items():
        readers = {
            member: tuple(one for one in has if one[0] == topic)
            for member, has in owned.items()
            if topic in subscriptions[member]
        }
        for member, has in assign(readers, {topic: count}).items():
            found[member] += has
    return {member: tuple(has) for member, has in found.items()}
