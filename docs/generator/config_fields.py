"""Meanings of the fields of the answers of ``kreplica config`` mean; ``answer_fields`` puts them in place."""

from __future__ import annotations

CONTEXTS = {
    "context": "name of the context",
    "current": "whether commands that name no cluster mean it",
    "bootstrap_servers": "servers as written, null if command_config or zookeeper names the cluster",
    "zookeeper": "ZooKeeper servers and chroot, null if none",
    "command_config": "file of client properties as written, null if none",
    "security_protocol": "security.protocol of the context's own properties, null if it has none",
    "read_only": "whether changes are refused",
    "production": "whether changes ask for more confirmation",
}
CHECKS = {
    "context": "name of the context",
    "check": "settings, secrets, security, connection, zookeeper, identity, version, topics, or a permission",
    "status": "ok, warning, failed, unreachable, lacking (a permission that is not there), unknown",
    "message": "what was found; of a permission, the commands that need it",
    "fix": "what to do, null if nothing",
}
SETTINGS = {
    "context": "name of the context",
    "name": "setting; client properties begin with `properties.`, programs that print secrets with `commands.`",
    "value": "value as written; secrets are `(hidden)`, references to them are shown",
    "origin": "option, environment variable, key of the contexts file, line of a properties file, or default",
}
FILE = {"path": "the contexts file", "status": "written"}
