"""Kafka's own command-line tools, run from the sandbox's jars."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

from kreplica.errors import SandboxError
from kreplica.sandbox.processes import tool_command

# Name without "kafka-" and ".sh" -> main class. Those that take no --bootstrap-server stand apart.
CLUSTER_TOOLS = {
    "acls": "org.apache.kafka.tools.AclCommand",
    "broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "cluster": "org.apache.kafka.tools.ClusterTool",
    "configs": "kafka.admin.ConfigCommand",
    "consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "features": "org.apache.kafka.tools.FeatureCommand",
    "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "groups": "org.apache.kafka.tools.GroupsCommand",
    "leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "topics": "org.apache.kafka.tools.TopicCommand",
    "transactions": "org.apache.kafka.tools.TransactionsCommand",
}
_PACKAGES = sorted({name.rpartition(".")[0] for name in CLUSTER_TOOLS.values()} | {"kafka.admin", "kafka.tools"})
LOCAL_TOOLS = {
    "dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "storage": "kafka.tools.StorageTool",
}
SERVERS_BEHIND_SUBCOMMAND = {"cluster"}
"""Tools whose subcommands take ``--bootstrap-server``; the others take it before theirs."""
ZOOKEEPER_TOOLS = {"configs", "reassign-partitions", "topics"}
"""Tools that asked ZooKeeper before Kafka 2.2."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The output of a tool and its exit status."""

    stdout: str
    stderr: str
    exit_status: int


def main_class(tool: str, jars: Iterable[Path]) -> str:
    """Return the main class of a tool by its short name (``topics``) or its script's (``kafka-topics.sh``), or of a
    class name as it is.

    Args:
        tool: The name.
        jars: Those of the release; before 4.0 a tool may have its class in another package there.

    Raises:
        SandboxError: No such tool.
    """
    tool = short_name(tool)
    if "." in tool:
        return tool
    tools = CLUSTER_TOOLS | LOCAL_TOOLS
    if tool not in tools:
        raise SandboxError(f"Kafka has no tool {tool!r}", f"there is: {', '.join(tools)}")
    _, _, simple_name = tools[tool].rpartition(".")
    known = _classes_named(simple_name, jars)
    if not known:
        raise SandboxError(f"this Kafka has no tool {tool!r} yet", f"its jars have no class {simple_name}")
    return tools[tool] if tools[tool] in known else known[0]


def _classes_named(simple_name: str, jars: Iterable[Path]) -> list[str]:
    """Classes of that name in the packages of Kafka's tools, from the jars of Kafka."""
    found = {f"{package}.{simple_name}" for package in _PACKAGES}
    return sorted(found & {name for jar in jars if jar.name.startswith("kafka") for name in _classes_of(jar)})


def _classes_of(jar: Path) -> list[str]:
    with ZipFile(jar) as opened:
        return [name.removesuffix(".class").replace("/", ".") for name in opened.namelist()]


def short_name(tool: str) -> str:
    """A tool's name without what Kafka's scripts have around it."""
    return tool.removeprefix("kafka-").removesuffix(".sh")


def with_servers(tool: str, servers: list[str], arguments: Iterable[str]) -> list[str]:
    """Return a tool's arguments with the option that names servers where the tool takes it.

    Args:
        tool: Its name, as ``main_class`` takes it.
        servers: The option and its value; empty for a tool that takes none.
        arguments: The others.
    """
    words = list(arguments)
    place = 1 if short_name(tool) in SERVERS_BEHIND_SUBCOMMAND else 0
    return [*words[:place], *servers, *words[place:]]


def run_tool(java: Path, class_path: Path, logging: str, program: list[str], timeout: float) -> ToolResult:
    """Run one tool to its end.

    Raises:
        SandboxError: It was not finished within ``timeout`` seconds.
    """
    command = tool_command(java, class_path, logging, program)
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"{program[0]} was not finished after {timeout:g} s") from error
    return ToolResult(done.stdout, done.stderr, done.returncode)
