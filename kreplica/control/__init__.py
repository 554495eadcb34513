"""The only code that writes to a cluster; what it changes was decided and confirmed before."""
