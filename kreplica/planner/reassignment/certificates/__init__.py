"""Certificates of plans: values, bounds, and what proves them."""
