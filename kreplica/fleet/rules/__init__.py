"""Fleet rules, one a file; ``kreplica/fleet/judging.py`` lists them."""
