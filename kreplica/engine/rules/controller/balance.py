"""When a controller brings leaders back to where they are preferred by itself."""

KRAFT_ELECTIONS_A_PASS = 1000
"""ReplicationControlManager.MAX_ELECTIONS_PER_IMBALANCE, since 3.2."""


def zookeeper_balances(non_preferred: int, preferred: int, percentage: int) -> bool:
    """Whether a broker's imbalance ratio makes the controller elect its preferred leaders.

    KafkaController.checkAndTriggerAutoLeaderRebalance, up to 3.9: strictly above the percentage. It then elects those
    partitions whose preferred replica may lead.

    Args:
        non_preferred: Partitions that the broker is preferred for and another, or nobody, leads.
        preferred: Partitions that the broker is preferred for.
        percentage: leader.imbalance.per.broker.percentage.
    """
    return non_preferred * 100 > preferred * percentage


def kraft_passes(electable: int) -> int:
    """In how many passes a controller elects that many preferred leaders.

    ReplicationControlManager.maybeBalancePartitionLeaders, since 3.2: there is no ratio, every preferred replica that
    may lead is elected, KRAFT_ELECTIONS_A_PASS at a time. A full pass is followed by the next at once
    (QuorumController.maybeScheduleNextBalancePartitionLeaders).
    """
    return -(-electable // KRAFT_ELECTIONS_A_PASS)
