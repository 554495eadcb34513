"""kreplica wait."""
