"""kreplica decode: files of brokers' disks, shown."""
