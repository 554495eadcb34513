"""Counterexamples of the models of clients as plans: connections that break, requests that are refused or late."""
