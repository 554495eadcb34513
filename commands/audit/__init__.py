"""kreplica audit."""
