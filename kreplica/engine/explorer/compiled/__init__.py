"""Search compiled by numba (extra ``prove``): the same actions, rules and invariants, over states in a few words."""
