"""Parts of answers that several commands of audit have."""
