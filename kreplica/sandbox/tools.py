"""Kafka's own command-line tools, run from the sandbox's jars."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

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
LOCAL_TOOLS = {
    "dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "storage": "kafka.tools.StorageTool",
}
# Tools that Kafka 3.9 had elsewhere.
_OF_KAFKA_3 = {
    "acls": "kafka.admin.AclCommand",
    "broker-api-versions": "kafka.admin.BrokerApiVersionsCommand",
    "dump-log": "kafka.tools.DumpLogSegments",
}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The output of a tool and its exit status."""

    stdout: str
    stderr: str
    exit_status: int


def main_class(tool: str, kafka_version: str) -> str:
    """Return the main class of a tool by its short name (``topics``) or its script's (``kafka-topics.sh``), or of a
    class name as it is.

    Raises:
        SandboxError: No such tool.
    """
    tool = short_name(tool)
    if "." in tool:
        return tool
    if kafka_version < "4" and tool in _OF_KAFKA_3:
        return _OF_KAFKA_3[tool]
    found = (CLUSTER_TOOLS | LOCAL_TOOLS).get(tool)
    if found is None:
        raise SandboxError(f"Kafka has no tool {tool!r}", f"there is: {', '.join([*CLUSTER_TOOLS, *LOCAL_TOOLS])}")
    return found


def short_name(tool: str) -> str:
    """A tool's name without what Kafka's scripts have around it."""
    return tool.removeprefix("kafka-").removesuffix(".sh")


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
