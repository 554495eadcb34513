"""Log directories of brokers: replicas that change them, and the room in them."""
