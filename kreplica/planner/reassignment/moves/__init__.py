"""Moves of a plan: the order in which they begin, what partitions go through, and what they cost."""
