"""Options on rules of health: which are judged, and from which severity on the exit code is 1."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Annotated

import typer

from kreplica.errors import UsageError


class FailOn(StrEnum):
    """Lowest severity of findings that make the command exit 1."""

    info = "info"
    warning = "warning"
    critical = "critical"


FailOnOption = Annotated[FailOn, typer.Option("--fail-on", help="Lowest severity that makes the exit code 1.")]
RuleOption = Annotated[
    list[str] | None, typer.Option("--rule", metavar="NAME", help="Only this rule; may be repeated.")
]


def known_rules(names: Sequence[str], more: Collection[str] = ()) -> frozenset[str]:
    """The names given, or all rules if none is.

    Args:
        names: As typed.
        more: Names of rules besides those of kreplica.

    Raises:
        UsageError: There is no such rule.
    """
    from kreplica.health.rules import ALL_RULES
    from kreplica.model.wording.nearest_names import nearest_or_known

    known = {*(rule.name for rule in ALL_RULES), *more}
    unknown = sorted(set(names) - known)
    if unknown:
        raise UsageError(f"no rule {', '.join(unknown)}", "", nearest_or_known(unknown[0], sorted(known)))
    return frozenset(names or known)
