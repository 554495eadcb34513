"""Lag of missing replicas, and how fast they catch up."""
