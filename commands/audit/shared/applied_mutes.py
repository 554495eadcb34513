"""Mutes in the answers of audit and audit incidents: where they hold, and why one is broken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from commands.audit.shared.moments import moment
from commands.shared.printing.screen import print_lines
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.fleet.known.worsening import AppliedMute


def as_object(one: AppliedMute) -> dict[str, object]:
    """A mute in one cluster, as the summary has it."""
    return {
        "rule": one.mute.rule,
        "cluster": one.cluster,
        "topic": one.mute.topic,
        "at_most": one.mute.at_most,
        "until": one.mute.until.isoformat(),
        "muted_at": one.mute.muted_at.isoformat(),
        "of": one.of,
        "findings": one.findings,
        "broken": one.is_broken,
        "before": {"at_once": one.before.findings, "severity": one.before.severity},
        "after": {"at_once": one.after.findings, "severity": one.after.severity},
    }


def print_mutes(mutes: Iterable[AppliedMute], names: Mapping[str, str], console: Console) -> None:
    """Prints a line for each mute that covers something: muted, or broken and why.

    Args:
        mutes: The mutes.
        names: Name of each cluster by its label.
        console: Where to.
    """
    some = list(mutes)
    print_lines(console, "muted", (_muted(one, names) for one in some if not one.is_broken))
    print_lines(console, "unmuted", (_broken(one, names) for one in some if one.is_broken))


def _muted(one: AppliedMute, names: Mapping[str, str]) -> str:
    return f"{counted(one.findings, one.of)} of {_covered(one, names)}, until {moment(one.mute.until)}"


def _broken(one: AppliedMute, names: Mapping[str, str]) -> str:
    said = []
    if one.has_more:
        bears = f"{one.bears} before" if one.mute.at_most is None else f"at most {one.bears} muted"
        said.append(f"{one.after.findings} at once since {moment(one.mute.muted_at)}, {bears}")
    if one.is_graver and one.usual is not None and one.after.severity is not None:
        before = "before" if one.before.severity is not None else "at first"
        said.append(f"{one.after.severity.word} since, {one.usual.word} {before}")
    return f"{_covered(one, names)} got worse and counts again: {'; '.join(said)}"


def _covered(one: AppliedMute, names: Mapping[str, str]) -> str:
    topics = "" if one.mute.topic is None else f" of topics {one.mute.topic}"
    return f"{one.mute.rule}{topics} in {names.get(one.cluster, one.cluster)}"
