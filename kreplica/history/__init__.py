"""Histories of clusters: many snapshots folded to intervals, kept by cluster and month."""
