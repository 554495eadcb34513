"""Impact on partitions of brokers that stop or fail."""
