"""Counterexamples of ``whatif prove`` as faults of runs: a plan for each kind of model, played beside what mends it."""
