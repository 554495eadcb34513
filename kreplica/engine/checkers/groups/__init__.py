"""Checks of consumer groups: partitions that members have at once, and records that they read, process and commit."""
