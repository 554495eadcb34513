"""Changes to a cluster, computed from snapshots only: planners open no connection and change nothing."""
