"""Connections to brokers: the messages they speak, how they are opened, and why they fail."""
