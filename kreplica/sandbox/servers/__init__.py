"""Servers of a sandbox: their roles and ports, properties, formatted directories and logs."""
