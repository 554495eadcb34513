"""A real metadata log with one record altered or dropped is refused, but for the kinds that cannot be told."""
