"""Load on a sandbox, and a ledger of what was acknowledged."""
