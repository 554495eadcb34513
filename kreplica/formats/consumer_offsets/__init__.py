"""The __consumer_offsets topic on disk: groups, commits and their replay."""
