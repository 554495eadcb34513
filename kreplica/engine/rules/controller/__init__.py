"""Rules of the controller: elections, ISR changes, reassignment, registration."""
