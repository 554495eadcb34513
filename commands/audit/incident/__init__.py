"""kreplica audit incident."""
