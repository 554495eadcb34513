"""kreplica sandbox."""
