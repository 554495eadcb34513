"""Clusters as values, drawn or set as a test wants them, and clusters on paper that change."""
