"""Simulated producers and consumers."""
