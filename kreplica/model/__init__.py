"""Model of a cluster: one columnar snapshot, views of it, and the predicates that judge it."""
