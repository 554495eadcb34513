"""A simulated ZooKeeper, its controllers and their link to brokers."""
