"""Small files of a log directory: checkpoints, indexes, meta.properties, quorum-state."""
