"""Scenarios of durability: acknowledgements, min.insync.replicas, power loss."""
