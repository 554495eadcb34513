"""Scenarios of the ISR: leaving it, joining it."""
