"""Snapshots at rest: Parquet tables and a manifest that makes them a snapshot."""
