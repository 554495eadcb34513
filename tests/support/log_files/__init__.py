"""Files of brokers, written, damaged or read by Kafka's own tools, and disks that fail."""
