"""Dumps: the output of Kafka's tools, kcat and ZooKeeper, read as a cluster."""
