"""Names of the decisions by which changes of partitions are explained; imports nothing, for commands list them."""

from __future__ import annotations

from enum import StrEnum


class TraceRule(StrEnum):
    """Decisions of a controller, and of ZooKeeper mode's leaders, on one partition."""

    created = "created"
    removed = "removed"
    broker_fenced = "broker-fenced"
    broker_stops = "broker-stops"
    broker_restarted = "broker-restarted"
    broker_unregistered = "broker-unregistered"
    broker_back = "broker-back"
    directory_failed = "directory-failed"
    directory_assigned = "directory-assigned"
    isr_shrunk = "isr-shrunk"
    isr_expanded = "isr-expanded"
    recovered = "recovered"
    move_begun = "move-begun"
    move_ended = "move-ended"
    move_cancelled = "move-cancelled"
    preferred_election = "preferred-election"
    unclean_election = "unclean-election"
    elr_cleared = "elr-cleared"
