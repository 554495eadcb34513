"""Words for people: counts, durations, and the name that was probably meant."""
