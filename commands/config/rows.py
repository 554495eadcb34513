"""Rows of the config commands."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from kreplica.model.rows import Meaning


class FileRow(Struct, frozen=True):
    """A file that was written."""

    path: Annotated[str, Meaning("the contexts file")]
    status: Annotated[str, Meaning("written")]


class ContextRow(Struct, frozen=True):
    """A context of the contexts file."""

    context: Annotated[str, Meaning("name of the context")]
    current: Annotated[bool, Meaning("whether commands that name no cluster mean it", screen=False)]
    bootstrap_servers: Annotated[
        str | None, Meaning("servers as written, null if command_config or zookeeper names the cluster")
    ]
    zookeeper: Annotated[str | None, Meaning("ZooKeeper servers and chroot, null if none", drop=3)]
    command_config: Annotated[str | None, Meaning("file of client properties as written, null if none", drop=1)]
    security_protocol: Annotated[
        str | None, Meaning("security.protocol of the context's own properties, null if it has none", drop=2)
    ]
    read_only: Annotated[bool, Meaning("whether changes are refused")]
    production: Annotated[bool, Meaning("whether changes ask for more confirmation")]


class SettingRow(Struct, frozen=True):
    """An effective setting of a context."""

    context: Annotated[str, Meaning("name of the context")]
    name: Annotated[
        str,
        Meaning("setting; client properties begin with `properties.`, programs that print secrets with `commands.`"),
    ]
    value: Annotated[str, Meaning("value as written; secrets are `(hidden)`, references to them are shown")]
    origin: Annotated[
        str,
        Meaning("option, environment variable, key of the contexts file, line of a properties file, or default"),
    ]


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
