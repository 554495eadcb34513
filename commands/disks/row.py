"""The columns of a log directory."""

from __future__ import annotations

COLUMNS = (
    "broker",
    "path",
    "error",
    "total_bytes",
    "usable_bytes",
    "usable_percent",
    "kafka_bytes",
    "replicas",
    "strays",
    "futures",
    "may_share_volume",
    "since",
    "filled_bytes",
    "kafka_growth_bytes",
    "trend",
    "days_until_full",
)
