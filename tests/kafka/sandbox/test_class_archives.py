"""Archives of classes, by a real Java: classes of Kafka come from the archive, whose path may have a blank."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from real_clusters.class_archives import try_out

from kreplica.sandbox.distribution.jars import class_path
from kreplica.sandbox.processes import write_class_path
from kreplica.system.class_archives import archive_options, keep_archive
from kreplica.system.folders import CACHE_VARIABLE
from kreplica.system.java import find_java

pytestmark = pytest.mark.kafka
PROGRAM = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "kafka.tools.StorageTool", "random-uuid"]


def test_classes_of_kafka_come_from_the_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java, jars = find_java().executable, class_path("4.3.1")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "a cache"))

    def loaded() -> str:
        arguments = write_class_path(tmp_path, jars, archive_options(java, jars))
        command = [str(java), f"@{arguments}", "-Xlog:class+load", *PROGRAM]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        (line,) = (line for line in done.stdout.splitlines() if " kafka.tools.StorageTool source:" in line)
        return line.partition(" source: ")[2]

    assert loaded().endswith(".jar")
    draft = tmp_path / "draft.jsa"
    with pytest.raises(OSError, match="left no archive"):
        try_out(java, jars, draft)
    recording = [str(java), f"-XX:ArchiveClassesAtExit={draft}", "-cp", ":".join(map(str, jars)), *PROGRAM]
    subprocess.run(recording, capture_output=True, timeout=120, check=True)
    if not [*find_java().home.glob("lib/server/classes*.jsa")]:  # cut down by jlink: it has none to build upon
        assert not draft.exists()
        return
    try_out(java, jars, draft)
    keep_archive(draft, java, jars)
    assert loaded() == "shared objects file (top)"
    draft.write_bytes(b"no archive" * 200_000)
    with pytest.raises(OSError, match="does not take the archive"):
        try_out(java, jars, draft)
