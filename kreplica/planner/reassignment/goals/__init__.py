"""Goals of reassignments, one a file; the hard ones veto what a later stage of planning would make worse."""
