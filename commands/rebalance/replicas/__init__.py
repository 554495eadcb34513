"""kreplica rebalance replicas."""
