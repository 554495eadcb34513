"""Times without writes or reads: those that were, and those that a loss would have made."""
