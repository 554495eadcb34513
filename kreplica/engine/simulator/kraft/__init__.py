"""Simulated KRaft controllers and their link to brokers."""
