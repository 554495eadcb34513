"""Options and values as they are typed, clusters, confirmation: what several commands take."""
