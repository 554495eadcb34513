"""Fleet rules on settings that differ or change."""
