"""Fleet rules on brokers and controllers."""
