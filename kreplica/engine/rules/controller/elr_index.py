"""The KRaft controller's index of ELRs: partitions that are looked at when a broker may have lost records.

org.apache.kafka.controller.BrokersToElrs, 4.0 to 4.3: a list of partition numbers for each broker and topic. It follows
the records of partitions, and not those that clear ELRs (ReplicationControlManager.removeTopicElrs): what was cleared
stays listed, and is listed once more when the broker joins that ELR again. handleBrokerUncleanShutdown looks at each
entry, so at a partition twice, and at one whose ELR no longer has the broker.
"""

from __future__ import annotations

Entries = tuple[int, ...]
"""Numbers of partitions of one topic, in the order in which they came."""


def listed(entries: Entries, partition: int) -> Entries:
    """The entries once the broker has joined the ELR of a partition. BrokersToElrs.add."""
    return (*entries, partition)


def unlisted(entries: Entries, partition: int) -> Entries:
    """The entries once the broker has left the ELR of a partition. BrokersToElrs.remove.

    The list gets one shorter, whatever it takes away: of a partition that was listed twice both entries go, and
    partition 0 is listed in place of the second one.

    Args:
        entries: Of the broker and topic; the partition is among them.
        partition: Its number.
    """
    kept = tuple(one for one in entries if one != partition)
    return kept + (0,) * (len(entries) - 1 - len(kept))
