"""kreplica audit ingest."""
