"""kreplica roll."""
