"""Models: of each its state, its actions, its invariants and the traces that are shown of it."""
