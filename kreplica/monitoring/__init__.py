"""Several clusters read at once, and one cluster read again."""
