"""Sessions of ZooKeeper, on which brokers and controllers of ZooKeeper mode live.

org.apache.zookeeper.server.SessionTrackerImpl and ExpiryQueue; in every version up to 3.9.
"""


def session_is_over(now: int, deadline: int) -> bool:
    """True if a session ends, and its ephemeral znodes with it: the client was silent for the whole timeout.

    org.apache.zookeeper.server.SessionTrackerImpl.run; zookeeper.session.timeout.ms. Every ping and every request moves
    the deadline (touchSession). Both times in one unit.
    """
    return now >= deadline
