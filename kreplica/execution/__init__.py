"""Carries out what a planner found, through control, and looks again afterwards."""
