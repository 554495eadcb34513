"""Scenarios of truncation: leader epochs, divergence, loss."""
