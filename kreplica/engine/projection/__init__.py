"""The rules applied to a snapshot of a real cluster."""
