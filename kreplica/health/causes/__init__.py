"""Causes of replicas missing from the ISR, and the smallest set of causes that explains them.

    facts         the missing replicas as arrays; what is known of each broker
    state_rules   causes shown by states: gone, fenced, offline, reassignment, no leader, throttle
    lag_rules     causes shown by comparison: slow leader, slow follower, one pair, a broker out of every ISR
    explain       all of them in order, for rows
    set_cover     the smallest set of causes, as plain combinatorics
    smallest_set  that set for partitions, causes with one origin merged (a rack, a broker slow in both roles)

A wrong cause is worse than none: a rule names one only where the facts single it out.
"""

from __future__ import annotations

from kreplica.health.causes.cause import Cause, CauseKind, NotKnown
from kreplica.health.causes.explain import Explanation, explain

__all__ = ["Cause", "CauseKind", "Explanation", "NotKnown", "explain"]
