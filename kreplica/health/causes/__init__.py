"""Why replicas are missing from the ISR, and the smallest set of causes that explains it.

    facts      the missing replicas as arrays; what is known of each broker
    rules      causes that states show: gone, fenced, offline, reassignment, no leader, throttle
    lagging    causes that comparison shows: slow leader, slow follower, one pair, a broker out of everything
    explain    all of them in order, for rows
    cover      the smallest set of causes, as plain combinatorics
    culprits   that set for partitions, merged where one thing is behind several (a rack, a broker slow in both roles)
    measuring  how far behind, how fast, how long: two readings compared

A wrong cause is worse than none: a rule names one only where the facts single it out.
"""

from __future__ import annotations

from kreplica.health.causes.cause import Cause, CauseKind, NotKnown
from kreplica.health.causes.explain import Explanation, explain

__all__ = ["Cause", "CauseKind", "Explanation", "NotKnown", "explain"]
