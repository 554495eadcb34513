"""Snapshots of clusters taken, and dumps taken into a history."""
