"""Scenarios of processing: commits, retries, dead letters."""
