"""One run of a plan of replicas: what begins, what is looked at, what is asked for again."""
