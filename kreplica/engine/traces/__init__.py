"""Traces of real controllers explained by the rules: a change that was seen, and the decisions that make it."""
