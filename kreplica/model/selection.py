"""Narrows a snapshot to the partitions that the user asks about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kreplica.errors import UsageError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Mask
from kreplica.model.topic_pattern import topic_pattern
from kreplica.model.wording.nearest_names import nearest_names
from kreplica.model.wording.words import are, counted, listed


def select(
    snapshot: ClusterSnapshot,
    *,
    topics: str | None = None,
    exclude_internal: bool = False,
    brokers: Sequence[int] = (),
) -> ClusterSnapshot:
    """The same cluster with only the partitions asked for.

    Args:
        snapshot: The cluster.
        topics: Regular expression over whole topic names; None for all.
        exclude_internal: Leave out Kafka's internal topics.
        brokers: Keep partitions with a replica on any of these; empty for all.

    Raises:
        UsageError: The expression is not valid, no topic matches it, or no such broker is known.
    """
    kept = np.ones(len(snapshot.partitions), dtype=np.bool_)
    if topics is not None:
        kept &= _matching_topics(snapshot, topics)
    if exclude_internal:
        kept &= ~snapshot.partitions.booleans("internal").is_true()
    if brokers:
        kept &= _on_brokers(snapshot, brokers)
    return snapshot if bool(kept.all()) else snapshot.select(np.flatnonzero(kept))


def _matching_topics(snapshot: ClusterSnapshot, text: str) -> Mask:
    pattern = topic_pattern(text)
    names = snapshot.strings("topic")
    matching = np.array([pattern.fullmatch(name) is not None for name in names.dictionary], dtype=np.bool_)
    if not matching.any():
        known = f"{counted(len(names.dictionary), 'topic')} {are(len(names.dictionary))} visible"
        hidden = sum(gap.count for gap in snapshot.gaps if gap.kind == "hidden-topics")
        raise UsageError(
            f"no topic matches {text!r}",
            f"{known}, {hidden} hidden" if hidden else known,
            _suggestion(text, names.dictionary),
        )
    return matching[names.codes]


def _suggestion(text: str, names: Sequence[str]) -> str:
    """Suggests an expression the user may have meant: the whole name has to match, so part of one does not."""
    if any(text in name for name in names):
        return f"the whole name has to match: try .*{text}.*"
    close = nearest_names(text, names, most=1)
    return f"did you mean {close[0]}?" if close else "the whole name has to match"


def _on_brokers(snapshot: ClusterSnapshot, brokers: Sequence[int]) -> Mask:
    replicas = snapshot.lists("replicas")
    registered = snapshot.brokers.integers("broker")
    known = {*registered.values.tolist(), *np.unique(replicas.values).tolist()}
    require_known(brokers, known)
    hits = np.isin(replicas.values, list(brokers))
    kept = np.zeros(len(replicas), dtype=np.bool_)
    kept[replicas.row_numbers()[hits]] = True
    return kept


def brokers_named(snapshot: ClusterSnapshot, brokers: Sequence[int], racks: Sequence[str]) -> list[int]:
    """The nodes named by id and by rack.

    Raises:
        UsageError: There is no such broker or rack.
    """
    require_known(brokers, known_nodes(snapshot))
    in_racks = set(snapshot.racks.values())
    strange = sorted(set(racks) - in_racks)
    if strange:
        there = f"known are {listed(sorted(in_racks))}" if in_racks else "no broker tells its rack"
        raise UsageError(f"no rack {listed(strange)}", there)
    return sorted({*brokers, *(broker for broker, rack in snapshot.racks.items() if rack in racks)})


def require_known(brokers: Iterable[int], known: Iterable[int]) -> None:
    """Refuses brokers that are not among the known ones.

    Raises:
        UsageError: There is no such broker.
    """
    if unknown := sorted(set(brokers) - {*known}):
        raise UsageError(f"no broker {listed(unknown)}", f"known are {listed(sorted(known))}")


def known_nodes(snapshot: ClusterSnapshot) -> list[int]:
    """Brokers of the cluster and of its assignments, and controllers of the quorum."""
    ids = [*snapshot.brokers["broker"].to_list(), *snapshot.quorum["node"].to_list()]
    assigned = np.unique(snapshot.lists("replicas").values).tolist()
    return sorted({node for node in (*ids, *assigned) if isinstance(node, int)})
