"""Real clusters, and what tests ask of them, do to them and wait for."""
