"""Names of settings that several packages need."""

from __future__ import annotations

MIN_ISR = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"

RETENTION_SETTINGS = (
    "cleanup.policy",
    "retention.ms",
    "retention.bytes",
    "remote.storage.enable",
    "local.retention.ms",
    "local.retention.bytes",
)
"""What says how much of a topic stays on a broker's disk; the last three with tiered storage (KIP-405)."""
