"""Views of a history for rules of a user: tables of what each thing was, from when to when."""
