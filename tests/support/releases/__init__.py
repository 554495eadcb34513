"""Releases of Kafka: rules that changed with them, and answers of their own classes."""
