"""Parts that several fleet rules share."""
