"""Throttles of moves: set for what is in flight, changed while it runs, put back, and those that were left behind."""
