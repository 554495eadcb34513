"""The version of kreplica."""

__version__ = "0.1.0"
