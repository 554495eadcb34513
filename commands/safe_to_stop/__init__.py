"""kreplica safe-to-stop."""
