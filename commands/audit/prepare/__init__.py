"""kreplica audit prepare."""
