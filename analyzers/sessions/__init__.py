"""Sessions of Spark: started, watched, ended, and what they raise in words."""
