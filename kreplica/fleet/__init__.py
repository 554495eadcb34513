"""Fleets over time: rules over the history of one cluster, and what they found. Nothing of Spark in here."""
