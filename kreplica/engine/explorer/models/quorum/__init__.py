"""Model of the quorum of controllers in KRaft: elections, the metadata log, what a majority has committed."""
