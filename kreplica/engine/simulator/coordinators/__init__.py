"""Simulated coordinators of groups and transactions."""
