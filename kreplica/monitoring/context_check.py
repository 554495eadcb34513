"""Contexts tried step by step: files, secrets, the way in, who the cluster sees, permissions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from kreplica.config.contexts import chosen_contexts, load_contexts
from kreplica.config.resolve import effective_settings, resolve, timeout_setting
from kreplica.errors import ExitCode, KreplicaError, UnreachableError
from kreplica.model.tables.rows import Meaning
from kreplica.model.wording.words import counted
from kreplica.sources.permissions import DESCRIBE_CLUSTER, Permission, Resource

if TYPE_CHECKING:
    from kreplica.config.contexts import ContextsFile
    from kreplica.config.handle import ClusterHandle, ClusterSettings, Setting
    from kreplica.sources.kafka.access import Access

OK, WARNING, FAILED, UNREACHABLE, LACKING, UNKNOWN = "ok", "warning", "failed", "unreachable", "lacking", "unknown"
STATUSES = (OK, WARNING, FAILED, UNREACHABLE, LACKING, UNKNOWN)

Uses = Mapping[Permission, str]
"""Permissions, each with what it is needed for, as ``for describe, check``."""


class CheckRow(Struct, frozen=True):
    """One step of trying a context."""

    context: Annotated[str, Meaning("name of the context")]
    check: Annotated[
        str, Meaning("settings, secrets, security, connection, zookeeper, identity, version, topics, or a permission")
    ]
    status: Annotated[
        str, Meaning("ok, warning, failed, unreachable, lacking (a permission that is not there), unknown")
    ]
    message: Annotated[str, Meaning("what was found; of a permission, the commands that need it")]
    fix: Annotated[str | None, Meaning("what to do, null if nothing")]


@dataclass(frozen=True, slots=True)
class CheckedContexts:
    """Contexts that were tried.

    Args:
        names: The contexts.
        rows: The steps of each, in order; a step that fails is the last one of its context.
    """

    names: Sequence[str]
    rows: Sequence[CheckRow]

    @property
    def counts(self) -> dict[str, int]:
        """Number of steps by status."""
        return {status: sum(row.status == status for row in self.rows) for status in STATUSES}

    @property
    def exit_code(self) -> ExitCode:
        """2 when settings cannot be used, 3 when a cluster does not let anybody in, 1 when there is a warning."""
        codes = ((FAILED, ExitCode.USAGE), (UNREACHABLE, ExitCode.UNREACHABLE), (WARNING, ExitCode.FINDINGS))
        return next((code for status, code in codes if self.counts[status]), ExitCode.OK)

    @property
    def warnings(self) -> list[str]:
        """Always empty: a warning is a row."""
        return []


def config_check(
    names: Sequence[str] = (),
    config_path: str | None = None,
    *,
    timeout: float | None = None,
    uses: Uses | None = None,
    environ: Mapping[str, str],
) -> CheckedContexts:
    """Tries contexts: their files, their secrets, the way in, who the cluster sees. Nothing is changed.

    Args:
        names: Contexts, or patterns such as ``prod-*``; the current one if empty.
        config_path: The contexts file; the environment or the user's configuration folder says it if None.
        timeout: Seconds that one read may take; the context's own if None.
        uses: Permissions to look for, each with what it is needed for; none if None.
        environ: Environment variables.

    Raises:
        ConfigurationError: There is no contexts file or no such context.
        UsageError: The timeout is not above zero.
    """
    option = timeout_setting(timeout)
    file = load_contexts(config_path, environ)
    chosen = chosen_contexts(file, names)
    rows = [row for name in chosen for row in _checks(file, name, option, uses or {}, environ)]
    return CheckedContexts(chosen, rows)


def _checks(
    file: ContextsFile, name: str, timeout: Setting | None, uses: Uses, environ: Mapping[str, str]
) -> Iterator[CheckRow]:
    """The checks of one context in order; the first that fails is the last."""

    def row(what: str, status: str, message: str, fix: str = "") -> CheckRow:
        return CheckRow(name, what, status, message, fix or None)

    step = "settings"
    try:
        settings = effective_settings(file, name, timeout)
        yield row(step, OK, f"{len(settings.properties)} client properties from {_files(settings)}")
        step = "secrets"
        handle = resolve(settings, environ)
        yield from (row("settings", WARNING, *_split(warning)) for warning in handle.warnings)
        yield row(step, OK, _secrets(settings))
        step = "security"
        yield row(step, *_security(handle))
        step = "connection"
        for what, status, message, fix in _reached(handle, uses):
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


def _reached(handle: ClusterHandle, uses: Uses) -> Iterator[tuple[str, str, str, str]]:
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
    yield from _permissions(access, uses)


def _permissions(access: Access, uses: Uses) -> Iterator[tuple[str, str, str, str]]:
    for permission, used in uses.items():
        status, told = _judged(access, permission)
        fix = "" if status == OK else permission.command(access.principal)
        yield str(permission), status, f"{told}{used}", fix


def _judged(access: Access, permission: Permission) -> tuple[str, str]:
    if permission.resource is Resource.CLUSTER:
        if access.cluster is None:  # reported only to users who may describe the cluster
            return (LACKING if permission == DESCRIBE_CLUSTER else UNKNOWN), ""
        return (OK if permission.among(access.cluster) else LACKING), ""
    told = [operations for operations in access.topics.values() if operations is not None]
    if permission.resource is Resource.GROUP or not told:
        return UNKNOWN, ""
    allowed = sum(permission.among(operations) for operations in told)
    return (OK if allowed == len(told) else LACKING), f"{allowed} of {counted(len(told), 'topic')}, "
