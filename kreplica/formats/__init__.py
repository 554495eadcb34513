"""Formats of the files that a broker writes: one module a format, pure functions from bytes to columns."""
