"""Scenarios of transactions: atomicity, fencing, timeouts."""
