"""Preferred leaders brought back: elections at once or by a plan, which is looked at, carried out and rolled back."""
