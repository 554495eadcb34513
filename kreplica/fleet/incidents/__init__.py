"""Incidents: what findings of one cluster have in common, told once, with what changed before and what was left."""
