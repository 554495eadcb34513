"""Findings that are known already: muted, or in an earlier answer."""
