"""Options that say which findings of a rule are muted, and whether mutes hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from commands.shared.locations import path_of_this_machine

MuteClusterOption = Annotated[
    str | None,
    typer.Option("--cluster", metavar="PATTERN", help="Only of clusters whose id or name matches."),
]
MuteTopicOption = Annotated[
    str | None,
    typer.Option("--topic", metavar="PATTERN", help="Only findings that are about a topic which matches."),
]
MuteRulesOption = Annotated[
    Path | None,
    typer.Option(
        "--rules", metavar="FILE", callback=path_of_this_machine, help="The rule may be one of this file, as of audit."
    ),
]
NoMutesOption = Annotated[bool, typer.Option("--no-mutes", help="As if nothing were muted.")]
