"""Answers as they are printed: tables, JSON, Parquet, verdicts, progress."""
