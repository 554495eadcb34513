"""kreplica whatif validate."""
