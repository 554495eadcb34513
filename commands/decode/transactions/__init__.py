"""kreplica decode transactions."""
