"""Trouble that is planted, and what has to be found of it."""
