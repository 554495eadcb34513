"""Fleet rules on consumer groups."""
