"""The suite of tests itself: which of them a file reaches, what they notice, and that each asserts something."""
