"""Segments of a log: record batches, records, codecs."""
