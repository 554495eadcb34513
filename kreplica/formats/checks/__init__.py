"""Rules across the files of a log directory: the files beside a log, compared with the log; one function a rule."""
