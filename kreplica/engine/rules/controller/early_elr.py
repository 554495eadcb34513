"""The last leader of a partition as the first releases with ELRs had it (KIP-966): 4.0 and 4.1.0.

org.apache.kafka.controller.PartitionChangeBuilder, where it differs from ``isr.kraft_change``, which is as since 4.1.1.
ELRs are on by default since 4.1.
"""

from kreplica.engine.rules.replication.replica_set import NO_LEADER, only, size


def only_last_leader_is_known(isr: int, elr: int, last_known_elr: int) -> bool:
    """True if nobody is left in ISR and ELR, and the last leader is known.

    PartitionChangeBuilder.canElectLastKnownLeader. 4.0 then elects that one, uncleanly, although it is fenced, be it
    for good; before any other where an unclean election is asked for, too. Since 4.1 it has to be back (KAFKA-19522).

    Args:
        isr, elr: Those that shall be.
        last_known_elr: Before the change.
    """
    return isr == 0 and elr == 0 and size(last_known_elr) == 1


def last_known_elr_until_4_1_0(leader: int, last_known_elr: int, isr: int, new_isr: int, elected: int) -> int:
    """The last-known ELR after a change in 4.0 and 4.1.0: the leader, once the ISR gets empty, not before.

    PartitionChangeBuilder.maybeUpdateLastKnownLeader. A leader that loses its leadership to nobody while a member of
    the ISR may not lead, by its log directory, is forgotten. If nobody leads already as the ISR gets empty, Kafka
    remembers -1, which is nobody here. With that 4.0 elects nobody uncleanly any more, which is not modelled: only a
    partition that had no leader before ELRs were switched on gets there.

    Args:
        leader, last_known_elr, isr: Before the change.
        new_isr, elected: ISR and leader after it.
    """
    if isr != 0 and new_isr == 0:
        return only(leader)
    return last_known_elr if elected == NO_LEADER else 0
