"""kreplica decode metadata."""
