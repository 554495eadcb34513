"""Carries out plans through control, and reads the cluster again afterwards."""
