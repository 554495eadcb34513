"""Cross-file truth of log directories: what the files beside a log say, held against the log; one rule a function."""
