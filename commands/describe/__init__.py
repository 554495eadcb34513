"""kreplica describe."""
