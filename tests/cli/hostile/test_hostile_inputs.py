"""Files made to hang, to fill the memory or to crash who reads them: one clear line and an exit code, in bounds.

Every reader of files is given every kind of file; then come bombs of each format. Each input is read in a process of
its own whose memory and time are measured.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

import cramjam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from answers.bounded_runs import Bounded, Ended, run_bounded
from log_files.record_batches import PlainRecord, batch_bytes, record_bytes
from log_files.varints import varint

from kreplica.sources.dumps.dump import read_sample
from kreplica.store.writing import write_snapshot

MOST_RESIDENT = 900 << 20
GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-4.3.1"
NOWHERE = ["--bootstrap-server", "127.0.0.1:1", "--timeout", "2"]

READERS: dict[str, Callable[[str], list[str]]] = {
    "dump": lambda path: ["describe", "--dump", path],
    "ingest": lambda path: ["audit", "ingest", path, "--into", "history"],
    "baseline": lambda path: ["audit", "incidents", "nowhere", "--baseline", path],
    "findings": lambda path: ["audit", "sample", "--cluster", "nope", "--baseline", path],
    "rules": lambda path: ["audit", "sample", "--rules", path],
    "properties": lambda path: ["describe", *NOWHERE, "--command-config", path],
    "contexts": lambda path: ["config", "list", "--config", path],
    "plan": lambda path: ["rebalance", "status", path, *NOWHERE],
    "roll": lambda path: ["roll", "next", path, *NOWHERE],
    "faults": lambda path: ["whatif", "run", "isr-flap", "--plan", path],
    "segment": lambda path: ["decode", "segment", path],
    "offsets": lambda path: ["decode", "offsets", path],
    "transactions": lambda path: ["decode", "transactions", path],
    "metadata": lambda path: ["decode", "metadata", path],
    "checkpoints": lambda path: ["decode", "checkpoints", path],
    "indexes": lambda path: ["decode", "indexes", path],
    "check": lambda path: ["decode", "check", path],
}
TEXT = ("dump", "ingest", "contexts", "plan", "roll", "faults", "rules", "baseline", "findings")
"""Readers of text with one syntax: whatever is not of it is refused."""
BYTES = ("empty", "zeros", "random", "deep.json")
"""Contents for those that read bytes: they have bombs of their own below."""

CONTENTS = {
    "empty": b"",
    "zeros": bytes(100_000),
    "random": bytes((number * 7919 + number // 251) % 256 for number in range(100_000)),
    "latin-1": b"Topic: caf\xe9 = [\xff]\n",
    "utf-16": "Topic: x = 1\n".encode("utf-16"),
    "deep.json": b'{"a":' * 200_000,
    "deep-list.json": b"[" * 200_000,
    "deep.toml": b"a = " + b"[" * 200_000,
    "dotted.toml": b"a." * 100_000 + b"b = 1",
    "number.json": b'{"brokers": [' + b"9" * 5000 + b'], "topics": []}',
    "number.toml": b"current = " + b"9" * 5000,
    "hex.toml": b"current = 0x" + b"f" * 100_000,
    "schema.json": b'{"schema": "kreplica/plan/v1", "digest": 7, "steps": ' + b"[" * 100_000,
    "one-line": b"x" * 3_000_000,
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of each kind."""
    folder = tmp_path_factory.mktemp("hostile")
    for name, content in CONTENTS.items():
        (folder / name).write_bytes(content)
    os.mkfifo(folder / "pipe")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "loop").symlink_to("loop")
    (folder / "nowhere").symlink_to("no-such-file")
    (folder / "directory").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(folder / "socket"))
    return folder


SPECIAL = ("pipe", "zero", "loop", "socket", "directory", "x" * 300)


def assert_bounded(ended: Ended, what: object) -> None:
    said = ended.err + ended.out
    assert ended.code is not None, f"{what} hangs"
    assert ended.code in (0, 1, 2, 3, 4, 5), (what, ended)
    assert not re.search("Traceback|internal error|not enough memory", said), (what, said)
    assert ended.resident < MOST_RESIDENT, (what, ended.resident)
    if ended.code in (2, 3, 4):
        told = [line for line in ended.err.splitlines() if line.startswith("error: ")]
        assert len(told) == 1, (what, ended)
        assert len(told[0]) < 4100, (what, told)


def test_every_reader_of_files_refuses_what_is_no_file(hostile: Path, tmp_path: Path) -> None:
    cases = [(reader, name) for reader in READERS for name in SPECIAL]
    runs = [Bounded(READERS[reader](str(hostile / name))) for reader, name in cases]
    for case, ended in zip(cases, run_bounded(runs, tmp_path), strict=True):
        assert_bounded(ended, case)
        assert ended.code == 2, (case, ended)


@pytest.mark.slow
def test_every_reader_of_files_refuses_or_reports_what_is_no_such_content(hostile: Path, tmp_path: Path) -> None:
    cases = [(reader, name) for reader in READERS for name in (CONTENTS if reader in TEXT else BYTES)]
    runs = [Bounded(READERS[reader](str(hostile / name))) for reader, name in cases]
    for (reader, name), ended in zip(cases, run_bounded(runs, tmp_path), strict=True):
        assert_bounded(ended, (reader, name))
        if reader in TEXT and (reader, name) != ("contexts", "empty"):
            assert ended.code == 2, (reader, name, ended)
        if name in ("random", "deep.json") and reader != "properties":
            assert ended.code != 0, (reader, name, ended)


def test_standard_input_without_an_end(tmp_path: Path) -> None:
    lines = [["describe", "--dump", "-"], ["decode", "segment", "-"]]
    for words, ended in zip(lines, run_bounded([Bounded(each, "/dev/zero") for each in lines], tmp_path), strict=True):
        assert_bounded(ended, words)
        assert ended.code == 2
        assert "a device, neither a file nor a pipe" in ended.err


# Bombs: few bytes that become many, and numbers that promise more than there is.

TINY = record_bytes(PlainRecord(0, 0, None, None))


def offsets_folder(home: Path, name: str, content: bytes) -> Path:
    folder = home / name / "__consumer_offsets-0"
    folder.mkdir(parents=True)
    (folder / f"{0:020}.log").write_bytes(content)
    return folder


def compressed(codec: int, plain: bytes) -> bytes:
    module = {1: cramjam.gzip, 2: cramjam.snappy, 3: cramjam.lz4, 4: cramjam.zstd}[codec]
    return bytes((module.compress_raw if codec == 2 else module.compress)(plain))


def segments(home: Path) -> dict[str, tuple[list[str], int]]:
    """Segments by name, and how decode offsets ends on them."""
    many = 3_000_000
    found = {
        f"tiny-{codec}": batch_bytes([], attributes=codec, content=compressed(codec, TINY * many), count=many)
        for codec in (1, 4)
    }
    found |= {
        f"bomb-{codec}": batch_bytes([], attributes=codec, content=compressed(codec, bytes(144 << 20)), count=1)
        for codec in (1, 2, 3, 4)
    }
    found["snappy-length"] = batch_bytes([], attributes=2, content=b"\xff\xff\xff\xff\x0f" + bytes(20), count=1)
    found["count"] = batch_bytes([PlainRecord(0, 0, b"k", b"v")], count=(1 << 31) - 1)
    found["key-length"] = batch_bytes([], content=varint(60) + b"\0\0\0" + varint(1 << 30) + bytes(60), count=1)
    found["headers"] = batch_bytes([], content=varint(60) + b"\0\0\0\1\1" + varint(1 << 30) + bytes(54), count=1)
    found["batch-length"] = struct.pack(">qi", 0, (1 << 31) - 1) + bytes(100)
    found["batch-negative"] = struct.pack(">qi", 0, -(1 << 31)) + bytes(100)
    found["offset"] = batch_bytes([PlainRecord(0, 0, b"k", b"v")], base_offset=(1 << 63) - 1)
    found["zeros"] = bytes(1 << 20)
    lines = {name: ["decode", "offsets", str(offsets_folder(home, name, each))] for name, each in found.items()}
    return {
        name: (words, 5 if name.startswith("tiny") or name in ("offset", "zeros") else 1)
        for name, words in lines.items()
    }


def small_files(home: Path) -> dict[str, tuple[list[str], int]]:
    """Small files of log directories that promise too much; damage is a finding."""
    number = b"9" * 5000
    contents = {
        "count": ("replication-offset-checkpoint", b"0\n99999999999999999999\norders 0 1\n"),
        "number": ("replication-offset-checkpoint", b"0\n1\norders 0 " + number + b"\n"),
        "version": ("replication-offset-checkpoint", number + b"\n0\n"),
        "epochs": ("orders-0/leader-epoch-checkpoint", b"0\n1\n" + number + b" 0\n"),
        "meta": ("meta.properties", b"version=" + number + b"\nnode.id=" + number + b"\n"),
        "quorum": ("__cluster_metadata-0/quorum-state", b'{"leaderEpoch":' + number + b',"data_version":0}'),
        "quorum-deep": ("__cluster_metadata-0/quorum-state", b'{"leaderEpoch":' + b"[" * 200_000),
        "clean": (".kafka_cleanshutdown", b'{"version":0,"brokerEpoch":' + b"[" * 200_000),
    }
    found = {}
    for name, (path, content) in contents.items():
        file = home / f"small-{name}" / path
        file.parent.mkdir(parents=True)
        file.write_bytes(content)
        found[f"small-{name}"] = (["decode", "checkpoints", str(home / f"small-{name}")], 1)
    folder = home / "producers" / "orders-0"
    folder.mkdir(parents=True)
    (folder / f"{0:020}.snapshot").write_bytes(struct.pack(">hIi", 1, 0, (1 << 31) - 1))
    found["producers"] = (["decode", "indexes", str(folder)], 1)
    index = home / "index" / "orders-0"
    index.mkdir(parents=True)
    (index / f"{0:020}.timeindex").write_bytes(CONTENTS["random"] * 3)
    (index / f"{0:020}.log").touch()
    found["index"] = (["decode", "check", str(index.parent)], 1)
    return found


def directories(home: Path) -> dict[str, tuple[list[str], int]]:
    """Links in circles, folders without an end, a file among others that cannot be read."""
    loops = home / "loops"
    shutil.copytree(GOLDEN / "clean" / "broker-1" / "data", loops)
    (loops / "again").symlink_to(loops)
    (loops / "orders-9").symlink_to("orders-9")
    os.mkfifo(loops / "recovery-point-offset-checkpoint.tmp")
    deep = home / "deep"
    deep.joinpath(*["d"] * 40).mkdir(parents=True)
    sparse = home / "sparse"
    sparse.mkdir()
    with (sparse / "replication-offset-checkpoint").open("wb") as file:
        file.truncate(1 << 40)
    return {
        "loops": (["decode", "check", str(loops)], 0),
        "deep": (["decode", "check", str(deep)], 2),
        "sparse": (["decode", "checkpoints", str(sparse)], 2),
    }


def dumps(home: Path) -> dict[str, tuple[list[str], int]]:
    """Dumps whose manifest or data file is not what it should be."""
    found = {}
    for kind in ("zero", "pipe", "deep", "year", "outside", "rows", "bytes", "bomb"):
        manifest = write_snapshot(read_sample(), home / f"dump-{kind}")
        (data,) = (home / f"dump-{kind}" / "partitions").rglob("*.parquet")
        document = json.loads(manifest.read_text())
        (entry,) = [each for each in document["files"] if each["table"] == "partitions"]
        if kind in ("zero", "pipe", "bomb"):
            data.unlink()
        if kind == "zero":
            data.symlink_to("/dev/zero")
        elif kind == "pipe":
            os.mkfifo(data)
        elif kind == "deep":
            manifest.write_bytes(b'{"schema": "kreplica/manifest/v1", "x": ' + b"[" * 200_000)
        elif kind == "bomb":
            row = {"topic": "t", "partition": 1, "internal": False, "replicas": [1, 2], "isr": [1], "leader": 1}
            table = pa.Table.from_pylist([row] * 1000)
            with pq.ParquetWriter(data, table.schema, compression="zstd", write_statistics=False) as writer:
                for _ in range(40):
                    writer.write_table(pa.concat_tables([table] * 100).combine_chunks())
            found["parquet"] = (["describe", "--dump", str(data)], 2)
        else:
            changed = {"year": None, "outside": ("path", "../../../etc/passwd"), "rows": ("rows", 1 << 62)}
            field = changed.get(kind, ("bytes", 1 << 62))
            if field is None:
                document["snapshot"]["taken_at"] = "0001-01-01T00:00:00+14:00"
            else:
                entry[field[0]] = field[1]
            manifest.write_text(json.dumps(document))
        found[f"dump-{kind}"] = (["describe", "--dump", str(home / f"dump-{kind}")], 2)
    packed = home / "packed.gz"
    packed.write_bytes(gzip.compress(bytes(144 << 20), 1))
    found["gzip"] = (["describe", "--dump", str(packed)], 2)
    text = home / "text"
    text.write_text(f"Topic: x\tPartition: {'9' * 5000}\tLeader: 1\tReplicas: 1\tIsr: 1\n")
    found["text"] = (["describe", "--dump", str(text)], 2)
    return found


def contexts(home: Path) -> dict[str, tuple[list[str], int]]:
    """Settings that lead astray."""
    endless = f"commands = {{ x = [{json.dumps(sys.executable)}, '-c', 'while True: print(65536 * \"x\")'] }}"
    cases = {
        "host": ('bootstrap_servers = "kafka..prod:9092"', 3),
        "port": ('bootstrap_servers = "127.0.0.1:99999"', 2),
        "endless": (
            f'bootstrap_servers = "127.0.0.1:1"\nproperties = {{ "client.id" = "${{command:x}}" }}\n{endless}',
            2,
        ),
        "file": ('bootstrap_servers = "127.0.0.1:1"\nproperties = { "client.id" = "${file:/dev/zero}" }', 2),
    }
    found = {}
    for name, (lines, code) in cases.items():
        path = home / f"{name}.toml"
        path.write_text(f"[contexts.one]\n{lines}\ntimeout = 2\n")
        path.chmod(0o600)
        found[f"context-{name}"] = (["describe", "--context", "one", "--config", str(path)], code)
    return found


@pytest.mark.parametrize("kind", [segments, small_files, directories, dumps, contexts], ids=lambda kind: kind.__name__)
def test_bombs(kind: Callable[[Path], dict[str, tuple[list[str], int]]], tmp_path: Path) -> None:
    """The limit of a dump is lowered, so that a file beyond it is soon made."""
    home = tmp_path / "home"
    home.mkdir()
    cases = kind(home)
    limit = {"KREPLICA_MAX_INPUT_BYTES": str(128 << 20)}
    began = time.monotonic()
    results = run_bounded([Bounded(words, env=limit) for words, _ in cases.values()], tmp_path)
    for (name, (_, code)), ended in zip(cases.items(), results, strict=True):
        assert_bounded(ended, name)
        assert ended.code == code, (name, ended)
    assert not re.search("kreplica-defect", " ".join(path.name for path in tmp_path.iterdir()))
    assert time.monotonic() - began < 250
