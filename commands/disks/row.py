"""A log directory as a row of disks."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from kreplica.health.disks import Trend
from kreplica.model.rows import Int32, Meaning


class LogDirRow(Struct, frozen=True):
    """A log directory, with its growth where there is an earlier snapshot."""

    broker: Annotated[Int32, Meaning("broker id")]
    path: Annotated[str, Meaning("log directory on that broker")]
    error: Annotated[str | None, Meaning("Kafka's error name if the directory is offline; null if it is online")]
    total_bytes: Annotated[
        int | None, Meaning("capacity of its volume; null before Kafka 3.3 and where it is offline (KIP-827)")
    ]
    usable_bytes: Annotated[int | None, Meaning("usable space of its volume (KIP-827)")]
    usable_percent: Annotated[float | None, Meaning("usable space in percent of the capacity")]
    kafka_bytes: Annotated[
        int | None, Meaning("sum of the replicas in it, future ones included; null where it is offline")
    ]
    replicas: Annotated[int | None, Meaning("how many replicas are in it, strays and future ones included")]
    strays: Annotated[int | None, Meaning("how many of them the cluster does not place on this broker")]
    futures: Annotated[int | None, Meaning("how many of them are copies within the broker under way (KIP-113)")]
    may_share_volume: Annotated[
        bool, Meaning("another directory of the same host has the same capacity and usable space, to a thousandth")
    ]
    since: Annotated[str | None, Meaning("time of the earlier snapshot; null without one")] = None
    filled_bytes: Annotated[
        int | None,
        Meaning("usable space that the volume lost since, by whatever was written; below 0 if it gained some"),
    ] = None
    kafka_growth_bytes: Annotated[int | None, Meaning("growth of kafka_bytes since")] = None
    trend: Annotated[
        Trend | None, Meaning("filling, not growing, or why there is no forecast; null without an earlier snapshot")
    ] = None
    days_until_full: Annotated[
        float | None,
        Meaning("usable_bytes divided by filled_bytes a day; null unless the volume is filling"),
    ] = None
