"""Scenarios of producers: order, retries, idempotence."""
