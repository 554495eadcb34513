"""What could be changed, computed from snapshots only: planners open no connection and change nothing."""
