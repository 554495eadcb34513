"""Automatic elections of preferred leaders by the controller."""

KRAFT_ELECTIONS_A_PASS = 1000
"""ReplicationControlManager.MAX_ELECTIONS_PER_IMBALANCE, since 3.2."""


def zookeeper_balances(non_preferred: int, preferred: int, percentage: int) -> bool:
    """True if a broker's imbalance ratio makes the controller elect its preferred leaders.

    KafkaController.checkAndTriggerAutoLeaderRebalance, up to 3.9: strictly above the percentage. It then elects those
    partitions whose preferred replica may lead.

    Args:
        non_preferred: Number of partitions whose preferred leader is the broker, and that it does not lead.
        preferred: Number of partitions whose preferred leader is the broker.
        percentage: leader.imbalance.per.broker.percentage.
    """
    return non_preferred * 100 > preferred * percentage


def kraft_passes(electable: int) -> int:
    """Returns the number of passes in which a controller elects that many preferred leaders.

    ReplicationControlManager.maybeBalancePartitionLeaders, since 3.2: there is no ratio; every preferred replica that
    may lead is elected, KRAFT_ELECTIONS_A_PASS at a time. A full pass is followed by the next at once
    (QuorumController.maybeScheduleNextBalancePartitionLeaders).
    """
    return -(-electable // KRAFT_ELECTIONS_A_PASS)
