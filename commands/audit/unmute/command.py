"""kreplica audit unmute: findings of a rule count again."""

from __future__ import annotations

from typing import Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption
from commands.shared.options.mutes import MuteClusterOption, MuteTopicOption


def register(group: typer.Typer) -> None:
    """Adds the command."""
    group.command(
        "unmute",
        short_help="Let findings of a rule count again.",
        epilog=examples(
            "kreplica audit unmute rf-one",
            "kreplica audit unmute under-replicated --cluster prod-eu",
        ),
    )(unmute)


def unmute(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="The rule, or kind of incident, that is muted.")],
    cluster: MuteClusterOption = None,
    topic: MuteTopicOption = None,
    output: OutputOption = None,
) -> None:
    """Remove the mutes of a rule, so that its findings count again; or only the mute with this cluster and topic.

    --cluster and --topic are the patterns of the mute, as kreplica audit mutes lists them. Exits 2 when there is none.
    """
    from commands.audit.mutes.answer import answer_to
    from commands.audit.mutes.screen import show_unmuted
    from commands.shared.printing.output import emit
    from kreplica.fleet.muting import unmute_rule

    found = unmute_rule(rule, cluster=cluster, topic=topic)
    emit(answer_to("audit-unmute", found), output, lambda console: show_unmuted(found, console))
