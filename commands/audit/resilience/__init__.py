"""kreplica audit resilience."""
