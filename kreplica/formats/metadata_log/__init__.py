"""The __cluster_metadata log of KRaft and its snapshots."""
