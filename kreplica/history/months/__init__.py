"""A cluster's month of a history at rest: its files, manifest and observations, added to snapshot by snapshot."""
