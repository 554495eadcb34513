"""Judgements over snapshots: what is wrong with a cluster, and why. Opens no connection and no file."""
