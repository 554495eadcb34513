"""Logs of partitions: their segments as one, and copies compared."""
