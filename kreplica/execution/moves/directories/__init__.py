"""Replicas that go to another log directory of their broker."""
