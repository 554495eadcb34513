"""Snapshots and logs of clusters over time, as a history takes them in."""
