"""Checkers: folds over the trace of a run."""
