"""kreplica imbalance."""
