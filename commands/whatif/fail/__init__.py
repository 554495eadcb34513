"""kreplica whatif fail."""
