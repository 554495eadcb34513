"""Written files are on the disk, bytes and name, and nothing half written is left: told by the order of syncs."""

from __future__ import annotations

import errno
import os
import re
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from log_files.recorded_disk import is_durable, record_disk, refuse_folders

from kreplica.config.contexts import ContextsFile, load_contexts, write_current, write_template
from kreplica.errors import ConfigurationError, ExitCode, UsageError
from kreplica.execution.digest import write_document
from kreplica.execution.journal_file import open_journal_file
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sources.dumps.dump import read_sample
from kreplica.store.manifest import read_manifest
from kreplica.store.writing import write_snapshot
from kreplica.system.durable_files import sync_all, write_new, write_whole

HELD = UsageError("held")


@pytest.fixture(scope="module")
def sample() -> ClusterSnapshot:
    return read_sample()


def test_a_snapshot_is_on_the_disk_file_by_file_and_its_manifest_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: ClusterSnapshot
) -> None:
    events = record_disk(monkeypatch)
    dumps = tmp_path / "new" / "dumps"
    path = write_snapshot(sample, dumps)
    manifest = read_manifest(path)
    files = [manifest.location(file) for file in manifest.files]
    assert len(files) >= 3
    for file in [*files, path]:
        assert is_durable(events, file), file
        for folder in (file.parent, *file.parent.parents):  # each new folder's own name, too
            if folder == tmp_path:
                break
            assert any(event.what == "sync" and event.path == folder.parent for event in events), folder
    named = [event.path for event in events if event.what == "name"]
    assert named[-1] == path
    synced = [
        number
        for number, event in enumerate(events)
        if event.what == "sync" and event.path in {file.parent for file in files}
    ]
    assert max(synced) < next(number for number, event in enumerate(events) if event.path == path), "names come first"


def test_a_plan_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = record_disk(monkeypatch)
    for replace in (False, True):
        events.clear()
        write_document({"schema": "x", "n": replace}, tmp_path / "plan.json", replace=replace)
        assert is_durable(events, tmp_path / "plan.json")


def test_a_line_of_a_journal_is_on_the_disk_before_it_is_acted_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = record_disk(monkeypatch)
    path = tmp_path / "plan.json.journal"
    with open_journal_file(path, HELD) as journal:
        assert [event.path for event in events] == [tmp_path], "the name of a new journal"
        for line in (b"one\n", b"two\n"):
            events.clear()
            journal.append(line)
            assert [(event.what, event.path, event.size) for event in events] == [("sync", path, path.stat().st_size)]
    path.write_bytes(b"one\ntorn")
    events.clear()
    with open_journal_file(path, HELD):
        assert [(event.path, event.size) for event in events] == [(path, 4)], "what was cut off is gone for good"


def test_contexts_are_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = record_disk(monkeypatch)
    path = tmp_path / "new" / "config.toml"
    write_template(path)
    assert is_durable(events, path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text('current = "a"\n[contexts.a]\n[contexts.b]\n')
    events.clear()
    write_current(load_contexts(str(path), {}), "b")
    assert is_durable(events, path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text().startswith('current = "b"')


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.ENOSYS, errno.EACCES])
def test_file_systems_that_sync_no_folders_are_written_to(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: ClusterSnapshot
) -> None:
    record_disk(monkeypatch, refuse_folders(number))
    assert write_snapshot(sample, tmp_path / "dumps").is_file()
    write_document({"schema": "x"}, tmp_path / "plan.json")
    with open_journal_file(tmp_path / "journal", HELD) as journal:
        journal.append(b"line\n")
    write_template(tmp_path / "config.toml")
    assert {path.name for path in tmp_path.iterdir()} == {"dumps", "plan.json", "journal", "config.toml"}


def test_a_disk_that_fails_is_told_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: ClusterSnapshot
) -> None:
    record_disk(monkeypatch, refuse_folders(errno.EIO))
    for write in (
        lambda: write_snapshot(sample, tmp_path / "dumps"),
        lambda: write_document({"schema": "x"}, tmp_path / "plan.json"),
        lambda: open_journal_file(tmp_path / "journal", HELD).__enter__(),
        lambda: write_template(tmp_path / "config.toml"),
    ):
        with pytest.raises(UsageError, match=r"cannot write .*[Ii]nput/output error") as caught:
            write()
        assert caught.value.exit_code == ExitCode.USAGE


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """The kernel itself refuses the write: a limit on the size of files stands for the full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)


def test_a_full_disk_leaves_no_half_file(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    contexts = tmp_path / "contexts.toml"
    contexts.write_text('current = "a"\n[contexts.a]\n[contexts.b]\n')
    known = load_contexts(str(contexts), {})
    writes: list[Callable[[], Any]] = [
        lambda: write_new(tmp_path / "new", bytes(99)),
        lambda: write_whole(tmp_path / "new", bytes(99), replace=False),
        lambda: write_whole(tmp_path / "old", bytes(99), replace=True),
    ]
    with room_for(10):
        for write in writes:
            with pytest.raises(OSError, match="large"):
                write()
        for write in (lambda: write_template(tmp_path / "config.toml"), lambda: write_current(known, "b")):
            with pytest.raises(ConfigurationError, match="cannot write"):
                write()
    assert {path.name for path in tmp_path.iterdir()} == {"old", "contexts.toml"}
    assert (tmp_path / "old").read_bytes() == b"old"
    assert load_contexts(str(contexts), {}) == ContextsFile(contexts, known.contexts, "a")


def test_a_file_is_ones_own_after_a_lost_answer_to_its_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client of NFS asks again when it hears nothing, and is told that the name is taken: by itself."""

    def asked_twice(draft: Path, path: Path) -> None:
        for _ in range(2):
            link(draft, path)

    link = os.link
    monkeypatch.setattr(os, "link", asked_twice)
    write_whole(tmp_path / "file", b"own", replace=False)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"own")]


def test_links_stay_and_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file")
    write_whole(tmp_path / "link", b"new", replace=True)
    assert ((tmp_path / "link").is_symlink(), (tmp_path / "file").read_bytes()) == (True, b"new")
    write_whole(Path(os.devnull), b"new", replace=True)
    assert Path(os.devnull).is_char_device()
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "link", b"newer", replace=False)
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "absent" / "file", b"new", replace=True)


def test_a_folder_in_which_one_may_only_write_takes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permission to read the folder is needed to open it for a sync; root has it anyhow, so that it is refused here."""
    real = os.open

    def refusing(path: str | os.PathLike[str], flags: int, *rest: int) -> int:
        if flags & os.O_DIRECTORY:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", refusing)
    write_whole(tmp_path / "plan.json", b"new", replace=False)
    assert (tmp_path / "plan.json").read_bytes() == b"new"


def test_all_that_another_program_wrote_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "findings" / "inner"
    inner.mkdir(parents=True)
    files = [tmp_path / "findings" / "part-0", inner / "part-1"]
    for file in files:
        file.write_bytes(b"rows")
    events = record_disk(monkeypatch)
    sync_all(tmp_path / "findings")
    assert {event.path for event in events if event.what == "sync"} == {*files, inner, inner.parent}


def test_files_that_outlive_a_crash_are_written_in_one_place() -> None:
    """Files of a sandbox's folder, of a temporary one, beside a defect or claimed by a running process need not."""
    root = Path(__file__).parents[3]
    writes = re.compile(r"\.write_(?:text|bytes)\(|NamedTemporaryFile|os\.O_CREAT|os\.replace|\.rename\(|fsync\(")
    found = {
        str(path.relative_to(root))
        for folder in ("kreplica", "commands", "analyzers")
        for path in (root / folder).rglob("*.py")
        if writes.search(path.read_text(encoding="utf-8"))
    }
    names = ("cluster", "launch", "servers/formatting", "servers/logs", "certificates")
    of_a_sandbox = {f"kreplica/sandbox/{name}.py" for name in names}
    of_its_processes = {"kreplica/sandbox/processes.py", "kreplica/sandbox/distribution/jars.py"}
    for_now = {
        "kreplica/config/security.py",
        "kreplica/system/guard.py",
        "kreplica/execution/moves/rate_request.py",
    }
    durable = {"kreplica/system/durable_files.py", "kreplica/execution/journal_file.py"}
    assert found == durable | for_now | of_a_sandbox | of_its_processes
