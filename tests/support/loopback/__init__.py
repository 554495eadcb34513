"""Servers on loopback that answer as a test wants them to, and certificates for tests."""
