"""Log directories that were copied are as Kafka's tool would have formatted them, byte for byte but times and ids."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from kreplica.sandbox import SandboxSettings
from kreplica.sandbox.distribution.jars import class_path
from kreplica.sandbox.processes import write_class_path
from kreplica.sandbox.servers.formatting import format_by_tool, format_servers
from kreplica.sandbox.servers.nodes import load_state
from kreplica.system.class_archives import archive_options
from kreplica.system.java import find_java

pytestmark = pytest.mark.kafka

launch = import_module("kreplica.sandbox.launch")  # the package has a function of that name


def properties_of(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="ascii").splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


def written(folder: Path) -> dict[str, object]:
    """What stands in each file of a server's log directories, without times."""
    files = (path for path in sorted(folder.glob("data-*/**/*")) if path.is_file())
    return {str(path.relative_to(folder)): told(path) for path in files}


def told(path: Path) -> object:
    if path.name == "meta.properties":
        return properties_of(path)
    return without_times(path.read_bytes(), is_snapshot=path.parent.name == "__cluster_metadata-0")


def without_times(log: bytes, is_snapshot: bool) -> bytes:
    """Record batches without their checksum and their first and last time (DefaultRecordBatch: 17, 27 and 35).

    A snapshot begins with a SnapshotHeaderRecord alone in a batch: the time of the last record before is at 73.
    """
    found, place = bytearray(log), 0
    if is_snapshot:
        found[73:81] = bytes(8)
    while place < len(log):
        found[place + 17 : place + 21] = bytes(4)
        found[place + 27 : place + 43] = bytes(16)
        place += 12 + int.from_bytes(log[place + 8 : place + 12], "big")
    return bytes(found)


@pytest.mark.parametrize(
    ("settings", "copied", "has_metadata"),
    [
        (SandboxSettings(name="combined", brokers=3, log_dirs=2), 3, True),
        (SandboxSettings(name="apart", brokers=2, controllers=2), 4, True),
        (SandboxSettings(name="apart", brokers=2, controllers=2), 2, False),
    ],
    ids=["broker and controller", "controller", "broker"],
)
def test_a_copy_is_what_the_tool_writes(
    tmp_path: Path, settings: SandboxSettings, copied: int, has_metadata: bool
) -> None:
    """The id of the directory of the metadata log is the one that the voters are told; others are random."""
    java = find_java().executable
    folder = launch._reserve(settings, tmp_path, java)
    state, jars = load_state(folder), class_path(settings.kafka_version)
    write_class_path(folder, jars, archive_options(java, jars))
    for node in state.nodes.values():
        launch._write_node(folder, state, node)
    format_servers(folder, state)
    ids = [properties_of(path)["directory.id"] for path in folder.rglob("meta.properties")]
    assert len(set(ids)) == len(ids) == len(state.nodes) * settings.log_dirs
    node = state.nodes[copied]
    own = folder / node.folder_name
    copies = written(own)
    cluster_id = properties_of(own / "data-1" / "meta.properties")["cluster.id"]
    for path in list(own.glob("data-*")):
        path.rename(own / f"copied-{path.name}")
    format_by_tool(folder, state, node, cluster_id)
    wanted = written(own)
    for path, properties in wanted.items():
        if isinstance(properties, dict) and not (has_metadata and path.startswith("data-1/")):
            properties["directory.id"] = copies[path]["directory.id"]  # type: ignore[index]
    assert len(wanted) > settings.log_dirs
    assert copies == wanted
