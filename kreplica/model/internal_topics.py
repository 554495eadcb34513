"""Topics that Kafka makes for itself (org.apache.kafka.common.internals.Topic)."""

from __future__ import annotations

from typing import Final

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
SHARE_STATE_TOPIC: Final = "__share_group_state"
INTERNAL_TOPICS: Final = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC})
"""Topic.INTERNAL_TOPICS."""

METADATA_TOPIC: Final = "__cluster_metadata"
"""The metadata log of KRaft: a folder on disk, and no topic of the cluster."""
