"""Models of a leader that asks the controller for another ISR and does not know yet whether it has it (KIP-497)."""
