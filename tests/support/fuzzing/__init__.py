"""Decoders fuzzed on bytes that were changed."""
