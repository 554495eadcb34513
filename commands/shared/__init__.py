"""Options and values as they are typed, clusters, confirmation: shared by several commands."""
