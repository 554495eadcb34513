"""Makes the archives of classes by which sandboxes start for little more than half the processor time.

    python class_archives.py 4.3.1 3.9.2

A broker of each release is started, asked by a tool, and stopped, which leaves the archive: some ten seconds of
processor time and 50 MB each, in kreplica's cache, once for each Java. Whatever goes wrong, the tests go as they would
without an archive, so this says why and ends well.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from kreplica.errors import KreplicaError
from kreplica.sandbox import Sandbox, SandboxSettings, mode_of, start
from kreplica.sandbox.distribution.jars import class_path
from kreplica.sandbox.processes import exclusive
from kreplica.system.class_archives import (
    LOCK_SECONDS,
    archive_of,
    archive_options,
    keep_archive,
    lock_of_archives,
)
from kreplica.system.durable_files import sync_all
from kreplica.system.folders import cache_folder
from kreplica.system.java import find_java

TRY_SECONDS = 120.0
LEAST_BYTES = 2**20
"""Java that does not archive leaves nothing, or a file without classes."""


def archive(kafka_version: str) -> Path | None:
    """Makes the archive of a release unless it is there; returns it where it was made.

    Raises:
        KreplicaError: Its broker does not start or stop.
        OSError: The cache cannot be written.
    """
    java, jars = find_java().executable, class_path(kafka_version)
    target = archive_of(java, jars)
    with exclusive(lock_of_archives(), LOCK_SECONDS, "the cache of class archives"):
        if archive_options(java, jars):
            return None
        with tempfile.TemporaryDirectory(prefix="classes-", dir=cache_folder()) as folder:
            draft = Path(folder) / "archive" / target.name
            draft.parent.mkdir()
            settings = SandboxSettings(name="classes", release=kafka_version, mode=mode_of(kafka_version), brokers=1)
            with start(settings, Path(folder)) as sandbox:
                record(sandbox, draft)
            try_out(java, jars, draft)
            sync_all(draft.parent)
            return keep_archive(draft, java, jars)


def record(sandbox: Sandbox, draft: Path) -> None:
    """Has one life of the broker archive the classes that it loads."""
    (broker,) = sandbox.broker_ids
    arguments = sandbox.folder / "class-path.args"
    plain = arguments.read_text(encoding="utf-8")
    sandbox.shut_down(broker)
    arguments.write_text(f'{plain}"-XX:ArchiveClassesAtExit={draft}"\n', encoding="utf-8")
    sandbox.start_broker(broker)
    arguments.write_text(plain, encoding="utf-8")
    sandbox.create_topic("orders", assignment=[[broker]])
    sandbox.tool("topics", "--describe")
    sandbox.shut_down(broker)


def try_out(java: Path, jars: tuple[Path, ...], draft: Path) -> None:
    """Starts Java with the archive, and lets it load classes.

    Raises:
        OSError: It is no archive that Java takes.
    """
    if not draft.is_file() or draft.stat().st_size < LEAST_BYTES:
        raise OSError("Java left no archive")
    options = ["-Xshare:on", f"-XX:SharedArchiveFile={draft}", "-XX:+UseSerialGC", "-cp", ":".join(map(str, jars))]
    command = [str(java), *options, "kafka.tools.StorageTool", "random-uuid"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TRY_SECONDS, check=False)
    if done.returncode != 0:
        raise OSError(f"Java does not take the archive: {(done.stdout or done.stderr).strip()[:300]}")


if __name__ == "__main__":
    for version in sys.argv[1:]:
        try:
            made = archive(version)
            print(f"Kafka {version}: " + (f"{made}, {made.stat().st_size >> 20} MiB" if made else "there already"))
        except (KreplicaError, OSError, subprocess.TimeoutExpired) as error:
            print(f"Kafka {version}: no archive of its classes: {error}")
