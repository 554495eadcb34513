"""Fleet rules on topics and their partitions."""
