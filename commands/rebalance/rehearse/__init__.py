"""kreplica rebalance rehearse."""
