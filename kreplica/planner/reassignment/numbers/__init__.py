"""Numbers of replicas by broker and rack: greedy and exact planners."""
