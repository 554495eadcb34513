"""Names of settings that several packages need."""

from __future__ import annotations

MIN_ISR = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"

METADATA_VERSION = "metadata.version"
"""The feature that every KRaft cluster has finalized (KIP-778)."""
ELR_FEATURE = "eligible.leader.replicas.version"
"""The finalized feature under which a KRaft controller keeps eligible leader replicas (KIP-966)."""
TRANSACTION_VERSION = "transaction.version"
GROUP_VERSION = "group.version"

RETENTION_SETTINGS = (
    "cleanup.policy",
    "retention.ms",
    "retention.bytes",
    "remote.storage.enable",
    "local.retention.ms",
    "local.retention.bytes",
)
"""Settings that limit how much of a topic is kept on a broker's disk; the last three with tiered storage (KIP-405)."""
