"""The consumer group protocol of KIP-848: heartbeats, target assignments, what members give up and take."""
