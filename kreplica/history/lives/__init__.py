"""Lives of partitions, topics, brokers and groups: what each was, from when to when."""
