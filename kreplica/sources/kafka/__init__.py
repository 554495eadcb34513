"""Live clusters, read from the brokers."""
