"""Simulated brokers: replicas, leaders, fetchers."""
