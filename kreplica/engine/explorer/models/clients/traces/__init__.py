"""Counterexamples of the models of clients as traces, for a run's diagrams: lanes are clients and brokers.

The time of an event is the number of its action, in milliseconds. Nodes, partitions and values are those of the
scenarios by which ``kreplica.scenarios.counterexamples.clients`` plays them.
"""
