"""Transaction logs of ZooKeeper: every write, in order, and Kafka's state znodes as the trace of its controller."""
