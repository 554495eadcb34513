"""kreplica compare."""
