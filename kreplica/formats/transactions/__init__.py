"""The __transaction_state topic on disk."""
