"""kreplica audit incidents."""
