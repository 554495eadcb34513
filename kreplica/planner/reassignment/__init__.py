"""Reassignments planned: a cluster as arrays, goals, planners, and certificates of how good a plan is."""
