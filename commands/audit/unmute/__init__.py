"""kreplica audit unmute."""
