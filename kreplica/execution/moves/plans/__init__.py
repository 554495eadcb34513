"""Plans of replicas: changes, file, journal, and how far they are."""
