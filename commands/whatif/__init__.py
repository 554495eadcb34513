"""kreplica whatif."""
