"""Fleet rules, one a file, in folders by what they judge; ``kreplica/fleet/judging.py`` lists them."""
