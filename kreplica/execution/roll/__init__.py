"""Rolling restarts: plan, journal and progress."""
