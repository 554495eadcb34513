"""Balances of topics, leaders and loads, and relief of full volumes."""
