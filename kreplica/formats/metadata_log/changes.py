"""Changes of partitions in a metadata log: their kinds, and the changes between two states.

The words for changes of partitions in a metadata log; imports nothing, for they are options of a command.
"""

from __future__ import annotations

from enum import StrEnum

from kreplica.formats.metadata_log.image import MetadataImage, PartitionChange, PartitionState


class ChangeKind(StrEnum):
    """Kinds of changes of a partition; one change may be of several kinds."""

    created = "created"
    removed = "removed"
    leader = "leader"
    unclean = "unclean"
    isr = "isr"
    elr = "elr"
    reassignment = "reassignment"
    recovery = "recovery"
    directories = "directories"


def kinds_of(change: PartitionChange) -> list[ChangeKind]:
    """The kinds of a change, in the order of ChangeKind; none for one that changed nothing but epochs."""
    before, after = change.before, change.after
    if before is None:
        return [ChangeKind.created]
    if after is None:
        return [ChangeKind.removed]
    happened = {
        ChangeKind.leader: change.leader_changed,
        ChangeKind.unclean: change.unclean,
        ChangeKind.isr: change.isr_changed,
        ChangeKind.elr: _sets(before.elr, before.last_known_elr) != _sets(after.elr, after.last_known_elr),
        ChangeKind.reassignment: _assignment(before) != _assignment(after),
        ChangeKind.recovery: before.recovery_state != after.recovery_state,
        ChangeKind.directories: list(before.directories) != list(after.directories),
    }
    return [kind for kind, it_did in happened.items() if it_did]


def standing(image: MetadataImage, topic: str, partition: int) -> list[PartitionChange]:
    """The state of a partition as a change that changed nothing: its state when a history begins."""
    states = [(each.id, each.partitions.get(partition)) for each in image.topics.values() if each.name == topic]
    return [
        PartitionChange(image.next_offset, image.timestamp or 0, topic, topic_id, partition, state, state)
        for topic_id, state in states
        if state is not None
    ]


def compare_images(left: MetadataImage, right: MetadataImage) -> list[PartitionChange]:
    """The changes that turn the partitions of one state into those of another, by topic and partition.

    A topic that was removed and made anew under its name is both removed and created.
    """
    changes: list[PartitionChange] = []
    for topic_id in {**left.topics, **right.topics}:
        one, other = left.topics.get(topic_id), right.topics.get(topic_id)
        name = (other or one).name  # type: ignore[union-attr]
        partitions = ({} if one is None else one.partitions, {} if other is None else other.partitions)
        for number in {**partitions[0], **partitions[1]}:
            before, after = (each.get(number) for each in partitions)
            if before != after:
                changes.append(
                    PartitionChange(right.next_offset, right.timestamp or 0, name, topic_id, number, before, after)
                )
    return sorted(changes, key=lambda change: (change.topic, change.partition, change.after is not None))


def _sets(*lists: object) -> list[frozenset[int]]:
    return [frozenset(each) for each in lists]  # type: ignore[call-overload]


def _assignment(state: PartitionState) -> tuple[list[int], list[int], list[int]]:
    return list(state.replicas), list(state.adding), list(state.removing)
