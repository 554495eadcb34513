"""Predicates of partitions: a language of expressions, what is declared in it, and its evaluation over arrays."""
