"""Snapshots chosen by the file names of their manifests, so that those that are not wanted are not opened.

A name tells the moment, to the millisecond, and the cluster's label: its id, or its name where no id is known. Where a
pattern may be that of a name, the newest manifest of each other cluster is opened: a cluster goes by the name that its
newest snapshot in the span gives it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import TypeAlias

from kreplica.store.layout import clusters_in, is_manifest_name, label_in, names_between, own_names, path_segment

WordsOf: TypeAlias = Callable[[Sequence[str]], Iterable[Sequence[str] | None]]

_PATTERN_CHARACTERS = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class ChosenNames:
    """Names of the manifests to open.

    Args:
        names: In order; those that no kreplica made are among them, since only their content tells what they are.
        clusters: Clusters, as parts of names, that are known to be wanted; of others each manifest has to be asked.
        others: Number of names that are not opened.
    """

    names: Sequence[str]
    clusters: frozenset[str]
    others: int


def choose_names(
    names: Sequence[str],
    patterns: Sequence[str],
    span: tuple[datetime | None, datetime | None],
    words_of: WordsOf,
) -> ChosenNames:
    """Chooses among the names of the manifests of a dump directory.

    Args:
        names: All of them, in order.
        patterns: Of ids and names of clusters; none takes every cluster.
        span: The first and the last moment that are wanted.
        words_of: Reads the cluster's label and name from each manifest of some names; None if it cannot be read.
    """
    own = own_names(names)
    strange = [name for name in names if not is_manifest_name(name)] if len(own) < len(names) else []
    inside = names_between(own, *span)
    clusters = clusters_in(inside)
    newest = dict(zip(clusters, inside, strict=True))
    if not patterns:
        sure, open_ones = frozenset(newest), frozenset[str]()
    else:
        sure, open_ones = _clusters(newest, patterns, words_of)
    wanted = sure | open_ones
    some = (name for cluster, name in zip(clusters, inside, strict=True) if cluster in wanted)
    chosen = inside if len(wanted) == len(newest) else list(some)
    return ChosenNames([*chosen, *strange], sure, len(own) - len(chosen))


def _clusters(
    newest: dict[str, str], patterns: Sequence[str], words_of: WordsOf
) -> tuple[frozenset[str], frozenset[str]]:
    """Clusters that are wanted, and those that cannot be told."""
    labels = {cluster: label_in(cluster) for cluster in newest}
    sure = {cluster for cluster, label in labels.items() if label is not None and fits(label, patterns)}
    plain = not any(map(_PATTERN_CHARACTERS.search, patterns))
    if plain and {path_segment(pattern) for pattern in patterns} <= set(newest):
        return frozenset({path_segment(pattern) for pattern in patterns}), frozenset()
    open_ones = set()
    # In the order of their moments, as they were written: next to each other.
    asked = {cluster: name for cluster, name in newest.items() if cluster not in sure}
    for cluster, words in zip(asked, words_of(list(asked.values())), strict=True):
        if words is None:
            open_ones.add(cluster)
        elif any(fits(word, patterns) for word in words):
            sure.add(cluster)
    return frozenset(sure), frozenset(open_ones)


def fits(name: str, patterns: Sequence[str]) -> bool:
    """True if a pattern fits an id or a name."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
