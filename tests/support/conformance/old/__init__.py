"""Rows on old releases of Kafka, on both sides of a rule that changed.

``rows`` is the catalogue and what only these rows do, ``sides`` plays them, ``playing`` gives each its
cluster.
"""
