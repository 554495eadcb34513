"""A cluster as it was at a moment of its history, by snapshots and metadata logs."""
