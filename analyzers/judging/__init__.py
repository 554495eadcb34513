"""Rows judged: classified once, counted, and what is broken folded to spans."""
