"""Rules of producers' state, transactions and the last stable offset."""
