"""kreplica audit mute: findings of a rule, or incidents of a kind, that are known and do not count until a time."""

from __future__ import annotations

from typing import Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption
from commands.shared.options.mutes import MuteClusterOption, MuteRulesOption, MuteTopicOption


def register(group: typer.Typer) -> None:
    """Adds the command."""
    group.command(
        "mute",
        short_help="Let findings of a rule, or incidents of a kind, not count until a time.",
        epilog=examples(
            "kreplica audit mute rf-one --until 2099-01-01 --topic 'scratch-*'",
            "kreplica audit mute under-replicated --until 7d --cluster prod-eu",
            "kreplica audit mute under-replicated --until 4h --cluster prod-eu --at-most 200",
            "kreplica audit mute broker-down --until 4h --cluster prod-eu",
        ),
    )(mute)


def mute(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="The rule, as audit names it, or a kind of incident.")],
    until: Annotated[
        str, typer.Option("--until", metavar="TIME", help="When the mute ends: 2026-03-01T12:00, or 7d from now.")
    ],
    cluster: MuteClusterOption = None,
    topic: MuteTopicOption = None,
    at_most: Annotated[
        int | None,
        typer.Option(
            "--at-most",
            metavar="N",
            show_default=False,
            help="It bears so many findings at one moment in each cluster; else as many as there were before.",
        ),
    ] = None,
    rules: MuteRulesOption = None,
    output: OutputOption = None,
) -> None:
    """Exclude the findings of a rule until a given time: kreplica audit counts them as muted, and its exit code ignores
    them.

    You can also mute a kind of incidents, such as broker-down, for kreplica audit incidents. A mute ends early in a
    cluster, and its findings count again, when more of them are seen at one moment than before the mute was made, or
    when one is more severe. If there were none before, as for planned work, the mute covers any number, up to the
    severity of the first one. A new mute replaces one of the same rule, cluster and topic. Mutes are kept in mutes.toml
    beside the contexts file. Exits 2 when there is no such rule.
    """
    from commands.audit.mutes.answer import answer_to
    from commands.audit.mutes.screen import show_muted
    from commands.shared.printing.output import emit
    from commands.shared.values import parse_coming
    from kreplica.fleet.muting import mute_rule

    more: list[str] = []
    if rules is not None:
        from analyzers.rules.rule_files import read_rules

        more = [one.name for one in read_rules(rules)]
    found = mute_rule(rule, parse_coming(until, "--until"), cluster=cluster, topic=topic, at_most=at_most, more=more)
    emit(answer_to("audit-mute", found), output, lambda console: show_muted(found, console))
