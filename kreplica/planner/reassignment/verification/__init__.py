"""A plan checked from the snapshot, its targets and its certificate alone, without a planner and without a solver.

No line is shared with planners: conditions are derived from the snapshot again, values counted, bounds added up.
"""
