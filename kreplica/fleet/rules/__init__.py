"""Fleet rules, one a file; ``catalogue`` lists them."""
