"""kreplica decode segment."""
