"""Mutes made, ended and listed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from kreplica.config.mutes import Mute, mutes_path, read_mutes, write_mutes
from kreplica.errors import NoJudgement, UsageError
from kreplica.health.rules import ALL_RULES
from kreplica.model.tables.rows import Int32, Meaning
from kreplica.model.wording.nearest_names import LISTED, nearest_names, nearest_or_known
from kreplica.model.wording.words import listed


class MuteRow(Struct, frozen=True):
    """A rule, or a kind of incidents, that is muted."""

    rule: Annotated[str, Meaning("name of the rule, or kind of the incidents")]
    cluster: Annotated[str | None, Meaning("pattern for ids or names of clusters, null for all")]
    topic: Annotated[str | None, Meaning("pattern for topics, null for every finding of the rule")]
    until: Annotated[str, Meaning("when the mute ends")]
    muted_at: Annotated[str, Meaning("when it was made: what came later may be worse", drop=1)]
    at_most: Annotated[
        Int32 | None,
        Meaning("findings or incidents at one moment that it bears, null for what there was before it", drop=2),
    ]
    in_force: Annotated[bool, Meaning("whether the end is still to come")]


@dataclass(frozen=True, slots=True)
class Mutes(NoJudgement):
    """Mutes of a file.

    Args:
        path: The file.
        mutes: The mutes that are told.
        now: The time at which they were looked at.
    """

    path: Path
    mutes: Sequence[Mute]
    now: datetime

    @property
    def rows(self) -> list[MuteRow]:
        """A row for each."""
        return [
            MuteRow(
                one.rule,
                one.cluster,
                one.topic,
                one.until.isoformat(),
                one.muted_at.isoformat(),
                one.at_most,
                self.now < one.until,
            )
            for one in self.mutes
        ]


def mute_rule(
    rule: str,
    until: datetime,
    *,
    cluster: str | None = None,
    topic: str | None = None,
    at_most: int | None = None,
    more: Collection[str] = (),
    environ: Mapping[str, str] | None = None,
) -> Mutes:
    """Mutes a rule, or a kind of incidents, in the mutes file; an earlier mute of the same is replaced.

    Args:
        rule: Its name.
        until: The end, with its zone.
        cluster: Pattern for ids or names of clusters; None for all.
        topic: Pattern for topics; None for every finding of the rule, and for incidents.
        at_most: Findings or incidents at one moment that it bears; None for what there was before.
        more: Names of rules beside those of kreplica.
        environ: Environment variables; KREPLICA_CONFIG says where the file is. Those of this process if None.

    Returns:
        The new mute.

    Raises:
        UsageError: There is no such rule or kind, the kind is planned, a pattern is empty, the end is over, or it is
            to bear no finding.
        ConfigurationError: The file cannot be read or written.
    """
    # Rules and kinds bring numpy with them, which whoever lists or ends mutes need not wait for.
    from kreplica.fleet.incidents.incident import MUTABLE_KINDS, PLANNED
    from kreplica.fleet.judging import FLEET_RULES

    if rule in PLANNED:
        raise UsageError(f"{rule} needs no mute", "it was planned: it is no incident, and counts nowhere")
    known = sorted({*(one.name for one in (*ALL_RULES, *FLEET_RULES)), *MUTABLE_KINDS, *more})
    if rule not in known:
        raise UsageError(f"no rule {rule}", "", nearest_or_known(rule, known))
    for option, pattern in (("--cluster", cluster), ("--topic", topic)):
        if pattern == "":
            raise UsageError(f"{option} is empty", "", "leave it out to mute everything")
    if topic is not None and rule in MUTABLE_KINDS - {*more}:
        raise UsageError("--topic goes with a rule", f"{rule} is a kind of incidents, which are about no single topic")
    now, path = _now(), _path(environ)
    if until <= now:
        raise UsageError(f"{until.isoformat()} is over", "a mute ends later than now")
    if at_most is not None and not 0 < at_most < 2**31:
        raise UsageError(f"a mute cannot bear {at_most} findings", "it bears 1 at least", "leave --at-most out")
    mute = Mute(rule, until.astimezone(UTC), now, cluster, topic, at_most)
    write_mutes(path, [*(one for one in read_mutes(path) if one.what != mute.what), mute])
    return Mutes(path, [mute], now)


def unmute_rule(
    rule: str, *, cluster: str | None = None, topic: str | None = None, environ: Mapping[str, str] | None = None
) -> Mutes:
    """Removes mutes of a rule from the mutes file, those that are over, too.

    Args:
        rule: Its name.
        cluster: Only those with this pattern; any if None.
        topic: Only those with this pattern; any if None.
        environ: See ``mute_rule``.

    Returns:
        The mutes that were removed.

    Raises:
        UsageError: There is none.
        ConfigurationError: The file cannot be read or written.
    """
    path = _path(environ)
    mutes = read_mutes(path)
    of_rule = [one for one in mutes if one.rule == rule]
    ended = [one for one in of_rule if cluster in (None, one.cluster) and topic in (None, one.topic)]
    if not of_rule:
        raise _not_muted(rule, path, sorted({one.rule for one in mutes}))
    if not ended:
        raise _not_muted_there(rule, _options(cluster, topic), of_rule)
    write_mutes(path, [one for one in mutes if one not in ended])
    return Mutes(path, ended, _now())


def list_mutes(environ: Mapping[str, str] | None = None) -> Mutes:
    """The mutes of the mutes file, those that are over, too.

    Args:
        environ: See ``mute_rule``.

    Raises:
        ConfigurationError: The file cannot be read.
    """
    path = _path(environ)
    return Mutes(path, read_mutes(path), _now())


def _not_muted(rule: str, path: Path, muted: Sequence[str]) -> UsageError:
    """The error of a rule that has no mute."""
    near = nearest_names(rule, muted)
    others = f"muted are {listed(muted, LISTED)}" if muted else "nothing is muted"
    return UsageError(f"{rule} is not muted in {path}", f"did you mean {', '.join(near)}?" if near else others)


def _not_muted_there(rule: str, asked: str, mutes: Sequence[Mute]) -> UsageError:
    """The error of a rule whose mutes are all of other clusters or topics."""
    told = [options_of(one) or "without --cluster and --topic" for one in mutes]
    fix = f"kreplica audit unmute {rule} {options_of(mutes[0])}".rstrip()
    return UsageError(f"{rule} has no mute with {asked}", f"its mutes: {'; '.join(told[:LISTED])}", fix)


def options_of(mute: Mute) -> str:
    """Cluster and topic of a mute as they are typed in a shell, empty where it has neither."""
    return _options(mute.cluster, mute.topic)


def _options(cluster: str | None, topic: str | None) -> str:
    given = {"--cluster": cluster, "--topic": topic}
    return " ".join(f"{option} {shlex.quote(pattern)}" for option, pattern in given.items() if pattern is not None)


def _path(environ: Mapping[str, str] | None) -> Path:
    return mutes_path(os.environ if environ is None else environ)


def _now() -> datetime:
    return datetime.now(UTC)
