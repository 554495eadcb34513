"""Plans on paper, their runs, and processes that are killed while they carry one out."""
