"""Kafka and kreplica restated in plain Python, slow and from the sources: what the fast code is held to."""
