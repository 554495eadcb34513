"""Random plans and setups, and their shrinking."""
