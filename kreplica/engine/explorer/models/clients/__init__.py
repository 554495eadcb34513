"""Models of clients: producers that send again, consumers that commit, transactions that are ended late."""
