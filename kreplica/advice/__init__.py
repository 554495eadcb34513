"""Advice on settings that an operator should change, judged from current settings. Opens no connection and no file."""
