"""Scenarios of controllers: elections, failover, reassignment."""
