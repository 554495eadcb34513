"""Replicas moved by a plan: what it changes, in which order, under which throttle, and the way back."""
