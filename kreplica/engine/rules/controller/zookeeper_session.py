"""Sessions of ZooKeeper, on which brokers and controllers of ZooKeeper mode live.

org.apache.zookeeper.server.SessionTrackerImpl and ExpiryQueue; in every version up to 3.9.
"""


def session_is_over(now: int, deadline: int) -> bool:
    """Whether a session ends, and its ephemeral znodes with it: its client was not heard of for the whole timeout.

    org.apache.zookeeper.server.SessionTrackerImpl.run; zookeeper.session.timeout.ms. Every ping and every request moves
    the deadline (touchSession). Both times in one unit.
    """
    return now >= deadline
