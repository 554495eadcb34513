"""kreplica config."""
