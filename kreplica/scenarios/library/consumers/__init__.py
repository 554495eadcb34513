"""Scenarios of consumers: groups, offsets, positions."""
