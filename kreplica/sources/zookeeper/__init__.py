"""Live clusters, read from ZooKeeper."""
