"""Dumps and histories read as DataFrames: observations, partitions, settings."""
