"""When a leader outside the ISR is taken by itself: records that were acknowledged are then lost.

Who it is: kraft_elect and zookeeper_elect_offline in ``elections``.
"""

from kreplica.engine.rules.replication.replica_set import NO_LEADER


def kraft_rechecks(leader: int, unclean_enabled: bool) -> bool:
    """Whether the periodic task of a KRaft controller elects uncleanly for a partition.

    ReplicationControlManager.maybeElectUncleanLeaders, since 3.9 (KAFKA-12670). It is there for a setting that is
    switched on while nobody leads: a broker's failure or return looks at the setting at once. Before 3.9 nothing in
    KRaft did: the setting was not looked at (ConfigurationControlManager.uncleanLeaderElectionEnabledForTopic), and
    kafka-leader-election alone could elect uncleanly.
    """
    return unclean_enabled and leader == NO_LEADER


def zookeeper_reacts_to_setting(leader_online: bool, unclean_enabled: bool) -> bool:
    """Whether a ZooKeeper controller elects for a partition when unclean election is switched on.

    KafkaController.processUncleanLeaderElectionEnable for the brokers' setting since 2.0,
    processTopicUncleanLeaderElectionEnable for a topic's since 2.1: at once.
    """
    return unclean_enabled and not leader_online


def recovering_after(unclean: bool, recovering: bool, isr_answered: bool) -> bool:
    """Whether a partition's leader recovers from an unclean election (LeaderRecoveryState, KIP-704, since 3.2).

    It is set by the election, and ends with the next ISR that the leader proposes; while it lasts the ISR is that
    leader alone.

    Args:
        unclean: Whether this change is an unclean election.
        recovering: Before it.
        isr_answered: Whether this change is an ISR of the leader's, which says RECOVERED.
    """
    return unclean or (recovering and not isr_answered)
