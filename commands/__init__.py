"""The command line: one file a subcommand, words and options only."""
