"""kreplica assign."""
