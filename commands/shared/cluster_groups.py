"""Groups of clusters: those whose contexts have a tag. A consumer group is another thing (--consumer-group)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

ClusterGroupOption = Annotated[
    list[str] | None,
    typer.Option(
        "--cluster-group",
        "--group",
        metavar="TAG",
        help="Clusters whose contexts have this tag; may be repeated.",
    ),
]


def clusters_of(patterns: Sequence[str] | None, groups: Sequence[str] | None) -> tuple[str, ...]:
    """Patterns of the clusters that are meant: those given, and the names of the contexts in the groups.

    Args:
        patterns: Ids, names or patterns as typed.
        groups: Tags of the contexts file, which KREPLICA_CONFIG may name.

    Raises:
        ConfigurationError: There is no contexts file, or no context has such a tag.
    """
    import glob

    names = dict.fromkeys(name for some in members_of(groups).values() for name in some)
    return (*(patterns or ()), *map(glob.escape, names))


def groups_of(groups: Sequence[str] | None) -> Mapping[str, frozenset[str]]:
    """Names of the contexts in each group, as rules that compare clusters take them.

    Args:
        groups: Tags of the contexts file, which KREPLICA_CONFIG may name.

    Raises:
        ConfigurationError: There is no contexts file, or no context has such a tag.
    """
    return {group: frozenset(names) for group, names in members_of(groups).items()}


def members_of(groups: Sequence[str] | None) -> Mapping[str, tuple[str, ...]]:
    """Names of the contexts in each group, in the order of the contexts file.

    Args:
        groups: Tags of the contexts file, which KREPLICA_CONFIG may name.

    Raises:
        ConfigurationError: There is no contexts file, or no context has such a tag.
    """
    import os

    from kreplica.config.contexts import load_contexts

    if not groups:
        return {}
    contexts = load_contexts(None, os.environ)
    return {group: contexts.tagged([group]) for group in groups}
