"""kreplica config check: tries a context step by step, and names the obstacles."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.options import ConfigOption, OutputOption, TimeoutOption
from commands.shared.printing.output import Answer, emit
from kreplica.errors import ExitCode, KreplicaError, UnreachableError
from kreplica.model.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from commands.config.rows import CheckRow
    from kreplica.config.contexts import ContextsFile
    from kreplica.config.handle import ClusterHandle, ClusterSettings, Setting
    from kreplica.sources.kafka.access import Access
    from kreplica.sources.permissions import Permission

OK, WARNING, FAILED, UNREACHABLE, LACKING, UNKNOWN = "ok", "warning", "failed", "unreachable", "lacking", "unknown"
STATUSES = (OK, WARNING, FAILED, UNREACHABLE, LACKING, UNKNOWN)


def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CONTEXT]...", help="Contexts, or patterns such as 'prod-*'; the current one if none."),
    ] = None,
    config: ConfigOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = None,
) -> None:
    """Try a context: its files, its secrets, the way in, who the cluster sees, and which commands it lets work.

    Nothing is changed. A permission that is lacking is no finding, because not everybody should have all of them. Exits
    2 when the settings of a context cannot be used, 3 when a cluster cannot be reached or refuses the credentials, 1
    when there is a warning.
    """
    from commands.config.named_contexts import named_contexts
    from commands.config.rows import CheckRow
    from kreplica.config.handle import Setting
    from kreplica.system.time_limits import check_timeout

    option = None if timeout is None else Setting(f"{check_timeout(timeout, '--timeout'):g}", "--timeout")
    file, chosen = named_contexts(names or (), config)
    rows = [row for name in chosen for row in _checks(file, name, option)]
    summary = {"contexts": len(chosen), **{status: _count(rows, status) for status in STATUSES}}
    answer = Answer("config-check", "checks", CheckRow, rows, summary=summary)
    emit(answer, output, lambda console: _show(chosen, rows, console))
    raise typer.Exit(_exit_code(rows))


def _checks(file: ContextsFile, name: str, timeout: Setting | None) -> Iterator[CheckRow]:
    """The checks of one context in order; the first that fails is the last."""
    from commands.config.rows import CheckRow
    from kreplica.config.resolve import effective_settings, resolve

    def row(what: str, status: str, message: str, fix: str = "") -> CheckRow:
        return CheckRow(name, what, status, message, fix or None)

    step = "settings"
    try:
        settings = effective_settings(file, name, timeout)
        yield row(step, OK, f"{len(settings.properties)} client properties from {_files(settings)}")
        step = "secrets"
        handle = resolve(settings, os.environ)
        yield from (row("settings", WARNING, *_split(warning)) for warning in handle.warnings)
        yield row(step, OK, _secrets(settings))
        step = "security"
        yield row(step, *_security(handle))
        step = "connection"
        for what, status, message, fix in _reached(handle):
            yield row(what, status, message, fix)
    except UnreachableError as error:
        yield row(step, UNREACHABLE, "; ".join(filter(None, (error.what, error.why))), error.fix)
    except KreplicaError as error:
        yield row(step, FAILED, "; ".join(filter(None, (error.what, error.why))), error.fix)


def _files(settings: ClusterSettings) -> str:
    return " and ".join(map(str, settings.files))


def _split(warning: str) -> tuple[str, str]:
    message, _, fix = warning.partition(": chmod")
    return message, f"chmod{fix}" if fix else ""


def _secrets(settings: ClusterSettings) -> str:
    from kreplica.config.secrets import references

    every = (*settings.settings.values(), *settings.properties.values())
    found = [one for setting in every for one in references(setting.text)]
    return (
        f"{counted(len(found), 'reference')} followed: {', '.join(dict.fromkeys(found))}" if found else "no references"
    )


def _security(handle: ClusterHandle) -> tuple[str, str]:
    from kreplica.config.properties import security_protocol, translate

    if handle.by_zookeeper:
        from kreplica.config.zookeeper_security import zookeeper_security

        security = zookeeper_security(handle.properties)
        return OK, "ZooKeeper" + (" with TLS" if security.context else "") + (" with digest" if security.digest else "")
    settings = translate(handle.properties).kafka_python
    mechanism = settings.get("sasl_mechanism")
    message = security_protocol(handle.properties) + (f" with {mechanism}" if mechanism else "")
    remark = _expiry(handle)
    return (WARNING, f"{message}; {remark}") if remark else (OK, message)


def _expiry(handle: ClusterHandle) -> str:
    from kreplica.config.key_stores import expiring, read_tls_material

    return "; ".join(expiring(read_tls_material(handle.properties))) if "SSL" in _protocol(handle) else ""


def _protocol(handle: ClusterHandle) -> str:
    from kreplica.config.properties import security_protocol

    return security_protocol(handle.properties)


def _reached(handle: ClusterHandle) -> Iterator[tuple[str, str, str, str]]:
    if handle.zookeeper is not None:
        from kreplica.sources import Facet, read_snapshot

        snapshot = read_snapshot(replace(handle, bootstrap_servers=None), Facet.PARTITIONS)
        yield (
            "zookeeper",
            OK,
            f"cluster {snapshot.label} by ZooKeeper, {counted(len(snapshot.partitions), 'partition')}",
            "",
        )
    if handle.by_zookeeper:
        return
    from kreplica.sources.kafka.access import read_access

    access = read_access(handle)
    yield "connection", OK, f"{access.address} answers for cluster {access.cluster_id or 'without id'}", ""
    yield "identity", OK, f"asked as {access.principal}", ""
    level = "ZooKeeper" if access.metadata_version is None else f"KRaft, metadata.version {access.metadata_version}"
    yield "version", OK, f"Kafka {access.release} or newer, {level}, {counted(access.brokers, 'live broker')}", ""
    yield "topics", OK, f"{counted(len(access.topics), 'topic')} may be described", ""
    yield from _permissions(access)


def _permissions(access: Access) -> Iterator[tuple[str, str, str, str]]:
    from commands.shared.kafka_requests import COMMAND_REQUESTS, commands_that_need

    every = dict.fromkeys(
        permission for command in COMMAND_REQUESTS.values() for permission in (*command.permissions, *command.optional)
    )
    for permission in every:
        commands = ", ".join(commands_that_need(permission))
        used = f"for {commands}" if commands else "for causes only"
        status, told = _judged(access, permission)
        fix = "" if status == OK else permission.command(access.principal)
        yield str(permission), status, f"{told}{used}", fix


def _judged(access: Access, permission: Permission) -> tuple[str, str]:
    from kreplica.sources.permissions import DESCRIBE_CLUSTER, Resource

    if permission.resource is Resource.CLUSTER:
        if access.cluster is None:  # reported only to users who may describe the cluster
            return (LACKING if permission == DESCRIBE_CLUSTER else UNKNOWN), ""
        return (OK if permission.among(access.cluster) else LACKING), ""
    told = [operations for operations in access.topics.values() if operations is not None]
    if permission.resource is Resource.GROUP or not told:
        return UNKNOWN, ""
    allowed = sum(permission.among(operations) for operations in told)
    return (OK if allowed == len(told) else LACKING), f"{allowed} of {len(told)} topics, "


def _count(rows: Sequence[CheckRow], status: str) -> int:
    return sum(row.status == status for row in rows)


def _exit_code(rows: Sequence[CheckRow]) -> ExitCode:
    for status, code in (
        (FAILED, ExitCode.USAGE),
        (UNREACHABLE, ExitCode.UNREACHABLE),
        (WARNING, ExitCode.FINDINGS),
    ):
        if _count(rows, status):
            return code
    return ExitCode.OK


def _show(chosen: Sequence[str], rows: Sequence[CheckRow], console: Console) -> None:
    from commands.shared.printing.screen import print_lines, print_verdict

    for name in chosen:
        own = [row for row in rows if row.context == name]
        print_verdict(console, *_verdict(name, own))
        for line in _lines(own):
            print_lines(console, "", [line])
        fixes = dict.fromkeys(row.fix for row in own if row.fix and row.status != UNKNOWN)
        print_lines(console, "next", fixes, whole=True)


def _lines(rows: Sequence[CheckRow]) -> Iterator[str]:
    """A line for each check; granted permissions share one, since only missing ones name the commands concerned."""
    there = [row for row in rows if row.status == OK and " on the " in row.check]
    for row in rows:
        if row not in there:
            yield f"{row.status:<11}  {row.check}: {row.message}"
        elif row is there[0]:
            yield f"{OK:<11}  permissions: {', '.join(one.check for one in there)}"


def _verdict(name: str, rows: Sequence[CheckRow]) -> tuple[str, str, str]:
    if _count(rows, FAILED):
        return "UNUSABLE", "red", f"{name}: {rows[-1].message}"
    if _count(rows, UNREACHABLE):
        return "UNREACHABLE", "red", f"{name}: {rows[-1].message}"
    lacking = _count(rows, LACKING)
    tail = f", {counted(lacking, 'permission')} lacking" if lacking else ", no permission is seen lacking"
    if warnings := _count(rows, WARNING):
        return "WARNING", "yellow", f"{name} works, with {counted(warnings, 'warning')}{tail}"
    return "OK", "green", f"{name} works{tail}"
