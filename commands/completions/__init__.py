"""kreplica completions."""
