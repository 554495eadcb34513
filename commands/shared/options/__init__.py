"""Options that several commands share, each worded once."""
