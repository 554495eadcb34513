"""Asks a person before a cluster is changed; a script says what it wants by its options."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from kreplica.errors import ChangeRefusedError

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle


def confirm(handle: ClusterHandle, label: str, change: str, *, yes: bool) -> None:
    """Lets a change pass, or asks whether it may.

    A person at a terminal answers yes, and for a context marked ``production`` types the cluster's name. A script has
    nobody to ask: ``--execute`` says enough, and for a production cluster ``--yes`` besides.

    Args:
        handle: The cluster.
        label: The cluster's own id, or its name if that is not known.
        change: What would be done, an imperative.
        yes: Whether ``--yes`` was given.

    Raises:
        ChangeRefusedError: It was not confirmed.
    """
    if yes:
        return
    person = sys.stdin.isatty() and sys.stderr.isatty()
    if handle.production and not person:
        raise ChangeRefusedError(
            "nothing was changed", f"{handle.name} is marked production and nobody is there to confirm", "give --yes"
        )
    if not person:
        return
    question = f"{change} on {handle.name} ({label})?"
    if not handle.production:
        agreed = typer.confirm(question, err=True)
    else:
        typed = typer.prompt(f"{question} It is marked production: type its name", err=True)
        agreed = typed.strip() == handle.name
    if not agreed:
        raise ChangeRefusedError("nothing was changed", "not confirmed")
