"""Kafka's replication protocol as rules, and what follows from them: no connection, no file, no clock."""
