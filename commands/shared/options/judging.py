"""Options that say what a fleet is judged by: rules, the moment, an earlier answer, mutes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.locations import path_of_this_machine
from commands.shared.options.baseline import BaselineOption
from commands.shared.options.mutes import NoMutesOption
from commands.shared.options.rules import FailOn, FailOnOption, RuleOption, known_rules

if TYPE_CHECKING:
    from analyzers.rules.criteria import Criteria
    from kreplica.config.mutes import Mute


@dataclass(frozen=True, slots=True)
class JudgingOptions:
    """Options of the rules, the moment that is judged at, and the findings that do not count."""

    rule: RuleOption = None
    rules: Annotated[
        Path | None,
        typer.Option(
            "--rules",
            metavar="FILE",
            callback=path_of_this_machine,
            help="Judge by the rules of this file as well: TOML, conditions in Spark SQL.",
        ),
    ] = None
    expect_every: Annotated[
        str | None,
        typer.Option(
            "--expect-every",
            metavar="TIME",
            help="Of a history: a snapshot of each cluster is due so often, 1h; else as often as each cluster had one.",
        ),
    ] = None
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of", metavar="TIME", help="Of a history: the moment to judge at, else that of its newest snapshot."
        ),
    ] = None
    baseline: BaselineOption = None
    no_mutes: NoMutesOption = False
    fail_on: FailOnOption = FailOn.warning

    def expect_every_ms(self) -> int | None:
        """Milliseconds after which a snapshot is due; None where each cluster has its own.

        Raises:
            UsageError: The text is no length of time.
        """
        from commands.shared.values import parse_duration

        if self.expect_every is None:
            return None
        return round(parse_duration(self.expect_every, "--expect-every", least=1.0) * 1000)

    def as_of_ms(self) -> int | None:
        """The moment that is judged at, milliseconds since the epoch; None for that of the newest snapshot.

        Raises:
            UsageError: The text is no time.
        """
        from commands.shared.values import milliseconds_of, parse_moment

        return None if self.as_of is None else milliseconds_of(parse_moment(self.as_of, "--as-of"))

    def mutes(self) -> Sequence[Mute]:
        """Mutes that are in force, none where they are left aside."""
        from kreplica.config.mutes import mutes_in_force

        return () if self.no_mutes else mutes_in_force(os.environ)

    def criteria(self) -> Criteria:
        """The rules that are asked for; those of a file besides.

        Raises:
            InputError: The file cannot be used.
            UsageError: There is no such rule.
        """
        from analyzers.rules.criteria import Criteria
        from analyzers.rules.over_time import FLEET_NAMES
        from analyzers.rules.rule_files import read_rules

        custom = () if self.rules is None else read_rules(self.rules)
        return Criteria(known_rules(self.rule or (), [*FLEET_NAMES, *(one.name for one in custom)]), custom)
