"""Scenarios of replication: fetching and the high watermark."""
