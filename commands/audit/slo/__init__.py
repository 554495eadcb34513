"""kreplica audit slo."""
