"""kreplica history."""
