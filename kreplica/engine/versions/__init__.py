"""Kafka's versions: what each release changed, its defaults and features."""
