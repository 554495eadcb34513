"""Models of followers that ask their leader for the end of a leader epoch, with questions and answers under way."""
