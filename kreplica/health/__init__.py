"""What is wrong with a cluster, and why: judgements over snapshots, no connection and no file."""
