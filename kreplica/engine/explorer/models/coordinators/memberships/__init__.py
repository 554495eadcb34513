"""A consumer group by the engine's rules, its members Kafka's: what each names in a heartbeat, takes and gives up."""
