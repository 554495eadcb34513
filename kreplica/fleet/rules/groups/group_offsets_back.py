"""Consumer groups whose committed offsets went back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.fleet.rules.groups.commits import commits
from kreplica.health.rules import Severity
from kreplica.model.tables.schema import GROUPS
from kreplica.model.wording.words import counted

NAME = "group-offsets-back"


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Groups whose committed offsets are lower than in the sample before."""
    for (group, topic), partitions in commits(history).items():
        back: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for partition, one in partitions.items():
            for place in np.flatnonzero(np.diff(one.offsets) < 0).tolist():
                by = one.offsets[place] - one.offsets[place + 1]
                back[one.at[place], one.at[place + 1]].append((partition, by))
        for (before, after), some in sorted(back.items()):
            yield history.finding(
                Span.event(before, after),
                history.groups.tellers,
                rule=NAME,
                severity=Severity.WARNING,
                certainty=Certainty.PROVED,
                message=f"committed offsets of {group} went back in {counted(len(some), 'partition')},"
                f" by {sum(by for _, by in some)} in all",
                topic=topic,
                group=group,
                evidence={"partitions": sorted(partition for partition, _ in some), "by": sum(by for _, by in some)},
            )


RULE = FleetRule(
    NAME,
    Severity.WARNING,
    (GROUPS,),
    "offsets that a group had committed went back: records are read twice",
    "ask who reset them; otherwise look for an unclean election, or for a topic that was created anew",
    find,
)
