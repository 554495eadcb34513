"""kreplica recommend."""
