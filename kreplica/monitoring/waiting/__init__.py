"""A cluster read until it has come to a state, or the time is up."""
