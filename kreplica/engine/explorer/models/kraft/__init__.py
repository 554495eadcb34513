"""Models of one partition under a KRaft controller, by the messages that brokers and controller send each other."""
