"""kreplica rebalance."""
