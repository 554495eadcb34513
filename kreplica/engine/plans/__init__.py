"""Plans of faults as files and in words, and what is left out of their setups."""
