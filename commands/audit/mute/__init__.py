"""kreplica audit mute."""
