"""Cluster configuration: contexts, client properties, security and secrets."""
