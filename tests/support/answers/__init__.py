"""Answers of commands as they are asked for, bounded, shown and kept."""
