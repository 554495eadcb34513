"""kreplica audit mutes."""
