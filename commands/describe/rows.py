"""Rows of describe where partitions are gathered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Struct

from commands.describe.question import GroupBy
from kreplica.model.tables.rows import Int32, Meaning


class TopicRow(Struct, frozen=True):
    """A topic and its share in the partitions."""

    topic: Annotated[str, Meaning("topic name")]
    partitions: Annotated[int, Meaning("matching partitions")]
    of: Annotated[int, Meaning("partitions of the topic")]


class BrokerRow(Struct, frozen=True):
    """A broker and its share in the partitions."""

    broker: Annotated[Int32, Meaning("broker id")]
    rack: Annotated[str | None, Meaning("broker.rack", drop=1)]
    alive: Annotated[bool | None, Meaning("registered and able to lead")]
    missing: Annotated[int, Meaning("matching partitions that miss its replica in their ISR")]
    leading: Annotated[int, Meaning("matching partitions that it leads")]
    partitions: Annotated[int, Meaning("matching partitions with a replica on it")]


class RackRow(Struct, frozen=True):
    """A rack and its share in the partitions."""

    rack: Annotated[str | None, Meaning("rack, null for brokers whose rack is not known")]
    missing: Annotated[int, Meaning("matching partitions that miss a replica of it in their ISR")]
    leading: Annotated[int, Meaning("matching partitions led from it")]
    partitions: Annotated[int, Meaning("matching partitions with a replica in it")]


class CauseRow(Struct, frozen=True):
    """A cause and the partitions that it explains; the last rows are those that no cause explains."""

    cause: Annotated[str, Meaning("kind of the cause, or not-known")]
    broker: Annotated[Int32 | None, Meaning("broker that it stands on")]
    rack: Annotated[str | None, Meaning("rack that is gone, or that of the broker", drop=1)]
    leader: Annotated[Int32 | None, Meaning("leader, where the cause stands on that too", drop=2)]
    certain: Annotated[bool, Meaning("whether the facts single it out")]
    failing: Annotated[int | None, Meaning("those of the partitions with failing writes")]
    partitions: Annotated[int, Meaning("partitions that it explains")]
    what: Annotated[str, Meaning("the cause in words", fold=True)]


GROUP_ROWS: Mapping[GroupBy, type[Struct]] = {
    GroupBy.topic: TopicRow,
    GroupBy.broker: BrokerRow,
    GroupBy.rack: RackRow,
    GroupBy.cause: CauseRow,
}
