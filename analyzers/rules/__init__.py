"""Rules that an audit judges by: those of a user's file, those over time, and which of them are asked for."""
