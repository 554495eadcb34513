"""kreplica check."""
