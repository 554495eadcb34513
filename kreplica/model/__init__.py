"""What a cluster is: one columnar snapshot, views of it, and the predicates that judge it."""
