"""The mutes file: rules whose findings are known and count no more until a time, in TOML.

    [[mutes]]
    rule = "under-replicated"
    cluster = "prod-*"                  # ids or names of clusters; every cluster if left out
    topic = "orders*"                   # every finding of the rule if left out, those that are about no topic, too
    until = 2026-12-01T00:00:00Z
    muted_at = 2026-11-24T02:00:00Z     # what came later may be worse
    at_most = 40                        # findings at one moment that it bears; what there was before if left out

It is ``mutes.toml`` beside the contexts file, wherever that is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct, ValidationError, convert

from kreplica.config.contexts import locate
from kreplica.errors import ConfigurationError, UsageError, as_clause, os_reason
from kreplica.model.wording.nearest_names import nearest_or_known
from kreplica.system.durable_files import make_folders, write_whole
from kreplica.system.untrusted_files import MalformedError, decode_toml, read_whole

FILE_NAME = "mutes.toml"
_HEAD = "# Findings that are known: written anew by each kreplica audit mute and unmute, read by kreplica audit.\n"

Pattern: TypeAlias = Annotated[str, Meta(min_length=1)]
Moment: TypeAlias = Annotated[datetime, Meta(tz=True)]


class Mute(Struct, frozen=True):
    """A rule that is muted.

    Args:
        rule: Its name.
        until: The end, in UTC.
        muted_at: The time at which it was muted, in UTC.
        cluster: Pattern for ids or names of clusters; None for all.
        topic: Pattern for topics; None for every finding, those that are about no topic, too.
        at_most: Findings at one moment that it bears; None for what there was before it was made.
    """

    rule: Pattern
    until: Moment
    muted_at: Moment
    cluster: Pattern | None = None
    topic: Pattern | None = None
    at_most: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None

    @property
    def what(self) -> tuple[str, str | None, str | None]:
        """Rule, cluster and topic: a file has one mute of them."""
        return self.rule, self.cluster, self.topic

    def covers(self, rule: str, clusters: Sequence[str], topic: str | None) -> bool:
        """True if findings are muted.

        Args:
            rule: The rule that they break.
            clusters: Id and name of their cluster.
            topic: Their topic.
        """
        if rule != self.rule or not (self.cluster is None or any(fnmatchcase(one, self.cluster) for one in clusters)):
            return False
        return self.topic is None or (topic is not None and fnmatchcase(topic, self.topic))


def mutes_path(environ: Mapping[str, str]) -> Path:
    """Path of the mutes file: beside the contexts file that KREPLICA_CONFIG names, else beside the default one.

    Args:
        environ: Environment variables.
    """
    return locate(None, environ)[0].parent / FILE_NAME


def read_mutes(path: Path) -> tuple[Mute, ...]:
    """The mutes of a file, none where there is no file.

    Args:
        path: The file.

    Raises:
        ConfigurationError: It cannot be read, or is no such file.
    """
    try:
        content = decode_toml(read_whole(path).decode("utf-8").replace("\r\n", "\n"))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise _unreadable(path, os_reason(error)) from None
    except (UnicodeDecodeError, MalformedError) as error:
        raise _unreadable(path, as_clause(str(error))) from None
    _reject_unknown(path, "", content, ("mutes",))
    tables = content.get("mutes", [])
    if not isinstance(tables, list):
        raise _unreadable(path, "mutes is no list of tables")
    return tuple(_mute_of(path, number, table) for number, table in enumerate(tables, start=1))


def mutes_in_force(environ: Mapping[str, str]) -> tuple[Mute, ...]:
    """The mutes of the mutes file that are not over.

    Args:
        environ: Environment variables.

    Raises:
        ConfigurationError: The file cannot be read, or is no such file.
    """
    now = datetime.now(UTC)
    return tuple(one for one in read_mutes(mutes_path(environ)) if now < one.until)


def write_mutes(path: Path, mutes: Sequence[Mute]) -> None:
    """Writes a mutes file; a reader sees the old one or the new one.

    Args:
        path: The file; its folder is made.
        mutes: All of its mutes.

    Raises:
        UsageError: A pattern is no text.
        ConfigurationError: It cannot be written.
    """
    try:
        content = "\n".join([_HEAD, *map(_table_of, mutes)]).encode()
    except UnicodeEncodeError:
        raise UsageError(
            "the pattern is no text", "it has bytes that are no UTF-8", "write ? for each of them"
        ) from None
    try:
        make_folders(path.parent, mode=0o700)
        write_whole(path, content, replace=True)
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}", os_reason(error)) from None


def _mute_of(path: Path, number: int, table: object) -> Mute:
    if not isinstance(table, dict):
        raise _unreadable(path, f"mute {number} is no table")
    _reject_unknown(path, f"mute {number}: ", table, Mute.__struct_fields__)
    try:
        mute = convert(table, Mute)
    except ValidationError as error:
        raise _unreadable(path, f"mute {number}: {as_clause(str(error))}") from None
    try:
        until, muted_at = mute.until.astimezone(UTC), mute.muted_at.astimezone(UTC)
    except OverflowError:
        raise _unreadable(path, f"mute {number}: a time is out of range") from None
    return Mute(mute.rule, until, muted_at, mute.cluster, mute.topic, mute.at_most)


def _reject_unknown(path: Path, place: str, table: Mapping[str, object], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            raise ConfigurationError(f"{path}: {place}unknown key {key}", "", nearest_or_known(key, known))


def _unreadable(path: Path, reason: str) -> ConfigurationError:
    fix = "mend it or remove it; kreplica audit --no-mutes leaves it out"
    return ConfigurationError(f"cannot read mutes file {path}", reason, fix)


def _table_of(mute: Mute) -> str:
    import tomlkit

    texts = {"rule": mute.rule, "cluster": mute.cluster, "topic": mute.topic}
    lines = [f"{key} = {tomlkit.string(text).as_string()}" for key, text in texts.items() if text is not None]
    times = {"until": mute.until, "muted_at": mute.muted_at}
    lines += [] if mute.at_most is None else [f"at_most = {mute.at_most}"]
    lines += [f"{key} = {moment.astimezone(UTC).isoformat().replace('+00:00', 'Z')}" for key, moment in times.items()]
    return "\n".join(["[[mutes]]", *lines, ""])
