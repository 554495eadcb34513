"""What a broker leaves on its disks: one module a format, pure functions from bytes to columns."""
