"""kreplica whatif run."""
