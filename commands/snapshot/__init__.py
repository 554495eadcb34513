"""kreplica snapshot."""
