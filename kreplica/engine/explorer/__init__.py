"""Explorer: every schedule of a small model, breadth first, by the rules of ``kreplica.engine.rules``.

A model is a layout of its state, a table of actions and invariants (``model.py``). An action is a function that changes
a state in place if it can be taken. ``plain_search.py`` takes every action of every state in plain Python and is the
reference. Within the bounds that a model is given the search is exact: each state is compared as a whole, and the first
state that breaks an invariant is reached by the fewest actions.
"""
