"""kreplica whatif prove."""
