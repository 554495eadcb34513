"""Names under which Kafka's tools are known."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from kreplica.errors import SandboxError
from kreplica.sandbox.distribution.tools import main_class, with_servers

NEW, OLD = "org.apache.kafka.tools.TopicCommand", "kafka.admin.TopicCommand"


def jar(folder: Path, *classes: str, name: str = "kafka_2.12-2.0.0.jar") -> Path:
    with ZipFile(folder / name, "w") as made:
        for one in classes:
            made.writestr(one.replace(".", "/") + ".class", b"")
    return folder / name


@pytest.mark.parametrize("name", ["topics", "kafka-topics", "kafka-topics.sh", "topics.sh"])
def test_a_tool_is_named_with_or_without_what_its_script_has_around_it(tmp_path: Path, name: str) -> None:
    assert main_class(name, [jar(tmp_path, NEW)]) == NEW


def test_an_old_release_has_it_elsewhere(tmp_path: Path) -> None:
    assert main_class("topics", [jar(tmp_path, OLD)]) == OLD
    both = [jar(tmp_path, OLD), jar(tmp_path, NEW, name="kafka-tools-3.9.2.jar")]
    assert main_class("topics", both) == NEW, "where both packages have it, the newer one is run"


def test_a_class_is_run_as_it_is_named() -> None:
    assert main_class(NEW, []) == NEW


def test_no_such_tool(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="Kafka has no tool 'no-such'"):
        main_class("kafka-no-such", [])
    with pytest.raises(SandboxError, match="this Kafka has no tool 'share-groups' yet"):
        main_class("share-groups", [jar(tmp_path, OLD, "another.ShareGroupCommand")])


def test_subcommands_of_the_cluster_tool_take_the_servers_themselves() -> None:
    servers = ["--bootstrap-server", "b:1"]
    assert with_servers("kafka-cluster.sh", servers, ["unregister", "--id", "2"]) == [
        "unregister",
        *servers,
        "--id",
        "2",
    ]
    assert with_servers("cluster", servers, []) == servers
    assert with_servers("features", servers, ["describe"]) == [*servers, "describe"]
