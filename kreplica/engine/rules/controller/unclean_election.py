"""Automatic elections of a leader outside the ISR: records that were acknowledged are then lost.

The leader that they elect: kraft_elect and zookeeper_elect_offline in ``elections``.
"""

from kreplica.engine.rules.replication.replica_set import NO_LEADER


def kraft_rechecks(leader: int, unclean_enabled: bool) -> bool:
    """True if the periodic task of a KRaft controller elects uncleanly for a partition.

    ReplicationControlManager.maybeElectUncleanLeaders, since 3.9 (KAFKA-12670). It serves a setting that is switched on
    while there is no leader: when a broker fails or returns, the setting is applied at once. Before 3.9 KRaft ignored
    the setting (ConfigurationControlManager.uncleanLeaderElectionEnabledForTopic), and only kafka-leader-election could
    elect uncleanly.
    """
    return unclean_enabled and leader == NO_LEADER


def zookeeper_reacts_to_setting(leader_online: bool, unclean_enabled: bool) -> bool:
    """True if a ZooKeeper controller elects for a partition when unclean election is switched on.

    KafkaController.processUncleanLeaderElectionEnable for the brokers' setting since 2.0,
    processTopicUncleanLeaderElectionEnable for a topic's since 2.1: at once.
    """
    return unclean_enabled and not leader_online


def recovering_after(unclean: bool, recovering: bool, isr_answered: bool) -> bool:
    """True if a partition's leader recovers from an unclean election (LeaderRecoveryState, KIP-704, since 3.2).

    The election sets it, and the next ISR that the leader proposes ends it; until then the ISR is that leader alone.

    Args:
        unclean: Whether this change is an unclean election.
        recovering: The state before this change.
        isr_answered: Whether this change is an ISR of the leader's, which says RECOVERED.
    """
    return unclean or (recovering and not isr_answered)
