"""A cluster read again: what changes between two readings."""
