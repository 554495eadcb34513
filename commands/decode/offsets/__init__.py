"""kreplica decode offsets."""
