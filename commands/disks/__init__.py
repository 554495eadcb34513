"""kreplica disks."""
