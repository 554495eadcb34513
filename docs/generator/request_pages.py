"""Pages about the requests that commands send and the permissions they need, from the tables of requests."""

from __future__ import annotations

from markdown import code, page, table

from commands.shared.kafka_requests import COMMAND_REQUESTS, CommandRequests
from kreplica.sources.kafka_requests import READS, Request
from kreplica.sources.permissions import Permission


def pages() -> dict[str, str]:
    """File name and text of each page."""
    return {"requests.md": _requests(), "permissions.md": _permissions()}


def _requests() -> str:
    rows = [
        [code(name), _facets(command), _reads(command), _said(command.changes)]
        for name, command in COMMAND_REQUESTS.items()
    ]
    return page(
        "Requests",
        "What each command sends to a cluster. A read asks for brokers and partitions and for the facets that the"
        " command needs, each by the requests below; `--timeout` bounds it as a whole, at most 16 requests are under"
        " way at once, and no request is repeated but where the table says so.",
        "A connection opens with ApiVersions and, with SASL, SaslHandshake and SaslAuthenticate. There is one"
        " to the first server that answers, one for what the controller is asked and, for facets that brokers answer"
        " for themselves, one to each broker.",
        "## By command",
        table(["command", "facets", "reads of the cluster", "changes, with `--execute` only"], rows),
        "## By facet",
        *(block for facet, requests in READS.items() for block in _facet(str(facet.name), requests)),
    )


def _facet(name: str, requests: tuple[Request, ...]) -> list[str]:
    rows = [[code(one.name), one.to, one.times, str(one.needs or "")] for one in requests]
    lead = "Every read." if name == "PARTITIONS" else ""
    return [f"### {_words(name)}", lead, table(["request", "to", "how often", "needs"], rows)]


def _facets(command: CommandRequests) -> str:
    names = [_words(str(facet.name)) for facet in READS if facet and facet in command.reads]
    return ", ".join(["partitions", *names])


def _words(name: str) -> str:
    return name.lower().replace("_", " ").replace("dirs", "directories").replace("configs", "settings")


def _reads(command: CommandRequests) -> str:
    return f"{command.times}, and {_said(command.beside)}" if command.beside else command.times


def _said(requests: tuple[Request, ...]) -> str:
    return ", ".join(f"{code(one.name)} to {one.to}, {one.times}" for one in requests)


def _permissions() -> str:
    rows = [
        [code(name), _names(command.permissions), _names(command.optional)]
        for name, command in COMMAND_REQUESTS.items()
    ]
    every = dict.fromkeys(
        permission for command in COMMAND_REQUESTS.values() for permission in (*command.permissions, *command.optional)
    )
    return page(
        "Permissions",
        "The access control entries that each command needs for a complete answer. Without one it says so, names the"
        " entry with the command that grants it, and exits with 5; a change is refused and exits with 4."
        " `kreplica config check` looks at them for the credentials of a context.",
        table(["command", "needs", "says more with"], rows),
        "Alter implies Describe, and AlterConfigs implies DescribeConfigs. Topics that may not be described are hidden"
        " by Kafka: entries for some topics only give an answer about those.",
        "## How they are granted",
        table(["permission", "command"], [[str(one), code(f"{one.command()}")] for one in every]),
        "`--bootstrap-server` and `--command-config` of somebody who may alter the cluster's entries are needed"
        " besides. Names of topics and groups may be narrowed, `--resource-pattern-type prefixed` for instance.",
    )


def _names(permissions: tuple[Permission, ...]) -> str:
    return ", ".join(map(str, permissions))
