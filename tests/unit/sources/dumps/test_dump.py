"""A dump is recognised by what is in it, whatever it is called and however it was stored."""

from __future__ import annotations

import gzip
import importlib.util
import io
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from kreplica.errors import InputError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import TABLES
from kreplica.sources.dumps.dump import read_dump
from kreplica.store.reading import list_manifests, read_dump_directory, read_snapshot_files
from kreplica.store.writing import write_snapshot
from kreplica.system.untrusted_files import LIMIT_VARIABLE

GOLDEN = Path(__file__).parents[3] / "golden"
DATA = Path(__file__).parents[4] / "kreplica" / "data"
DESCRIBE = GOLDEN / "describe-layouts" / "trouble" / "3.9.2.txt"
KCAT = GOLDEN / "kcat" / "trouble.json"
LISTED = {
    ("moving", 0),
    ("moving", 1),
    ("orders", 0),
    ("orders", 1),
    ("orders", 2),
    ("single-copy", 0),
    ("single-copy", 1),
}


def keys(snapshot: ClusterSnapshot) -> set[tuple[str, int]]:
    return {(row["topic"], row["partition"]) for row in snapshot.partitions.rows()}


def refusal(path: Path | str) -> str:
    with pytest.raises(InputError) as caught:
        read_dump(str(path))
    return str(caught.value)


def stored(tmp_path: Path, content: bytes, name: str = "a dump") -> str:
    path = tmp_path / name
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(("path", "source"), [(DESCRIBE, "describe-text"), (KCAT, "kcat-json")])
@pytest.mark.parametrize("name", ["x", "cluster.parquet", "dump.json", "dump.txt"])
def test_content_decides_not_the_name(tmp_path: Path, path: Path, source: str, name: str) -> None:
    snapshot = read_dump(stored(tmp_path, path.read_bytes(), name))
    assert (snapshot.source, keys(snapshot)) == (source, LISTED)
    assert snapshot.name == str(tmp_path / name)
    assert snapshot.cluster_id is None


FORMS = {
    "as it is": lambda text: text.encode(),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "UTF-8 with byte order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "UTF-16 little-endian, as PowerShell redirects": lambda text: (
        b"\xff\xfe" + text.replace("\n", "\r\n").encode("utf-16-le")
    ),
    "UTF-16 big-endian": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "gzip": lambda text: gzip.compress(text.encode()),
    "gzip of UTF-16": lambda text: gzip.compress(b"\xff\xfe" + text.encode("utf-16-le")),
    "two gzip members": lambda text: gzip.compress(text[:100].encode()) + gzip.compress(text[100:].encode()),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", [DESCRIBE, KCAT], ids=["describe", "kcat"])
def test_the_form_in_which_it_was_stored_does_not_matter(tmp_path: Path, path: Path, form: str) -> None:
    snapshot = read_dump(stored(tmp_path, FORMS[form](path.read_text(encoding="utf-8"))))
    plain = read_dump(str(path))
    assert list(snapshot.partitions.rows()) == list(plain.partitions.rows())
    assert list(snapshot.configs.rows()) == list(plain.configs.rows())


def test_taken_at_is_the_time_of_the_last_change(tmp_path: Path) -> None:
    path = stored(tmp_path, DESCRIBE.read_bytes())
    os.utime(path, ns=(0, 1_795_244_615_244_999_999))
    assert read_dump(path).taken_at == datetime(2026, 11, 21, 7, 3, 35, 244_000, tzinfo=UTC)


def test_standard_input_is_read_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(DESCRIBE.read_bytes())))
    before = datetime.now(UTC)
    snapshot = read_dump("-")
    assert keys(snapshot) == LISTED
    assert snapshot.name == "<stdin>"
    assert abs((snapshot.taken_at - before).total_seconds()) < 60


def test_errors_of_standard_input_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"Topic: x\n")))
    assert refusal("-").startswith("cannot read <stdin>, line 1;")


def test_a_pipe_is_read(tmp_path: Path) -> None:
    """As in --dump <(kafka-topics.sh --describe)."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    os.utime(pipe, (0, 0))
    writer = (
        "import sys, time; pipe = open(sys.argv[1], 'wb'); time.sleep(0.5); pipe.write(open(sys.argv[2], 'rb').read())"
    )
    with subprocess.Popen([sys.executable, "-c", writer, str(pipe), str(DESCRIBE)]):
        snapshot = read_dump(str(pipe))
    assert keys(snapshot) == LISTED
    assert (datetime.now(UTC) - snapshot.taken_at).total_seconds() < 60


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_device_is_not_read(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "a device, neither a file nor a pipe" in refusal(device)
    with Path(device).open("rb") as stream:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
        assert refusal("-") == "cannot read <stdin>; a device, neither a file nor a pipe"


def test_the_null_device_is_an_empty_file() -> None:
    assert "; it is empty; " in refusal(os.devnull)


def endless() -> subprocess.Popen[bytes]:
    """A program that writes zeros until nobody reads them."""
    writer = "import sys\nwhile True: sys.stdout.buffer.write(bytes(65536))"
    return subprocess.Popen([sys.executable, "-c", writer], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def test_what_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in yes | kreplica describe --dump -, and by the name of the pipe."""
    monkeypatch.setenv(LIMIT_VARIABLE, str(3 << 20))
    told = f"; more than 3145728 bytes; {LIMIT_VARIABLE} raises this limit"
    with endless() as writer:
        assert writer.stdout is not None
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=writer.stdout))
        assert refusal("-") == f"cannot read <stdin>{told}"
        assert refusal(f"/dev/fd/{writer.stdout.fileno()}").endswith(told)
        writer.stdout.close()


def test_a_dump_may_be_as_large_as_the_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    size = DESCRIBE.stat().st_size
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(DESCRIBE.read_bytes()))
    for path in (DESCRIBE, packed):
        monkeypatch.setenv(LIMIT_VARIABLE, str(size))
        assert keys(read_dump(str(path))) == LISTED
        monkeypatch.setenv(LIMIT_VARIABLE, str(size - 1))
        assert f"more than {size - 1} bytes" in refusal(str(path))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b" \n\n\t\n", "it is empty"),
        (b"\xef\xbb\xbf \n", "nothing but log output|it is empty|empty"),
        (gzip.compress(b""), "it is empty"),
        (gzip.compress(DESCRIBE.read_bytes())[:-20], "a gzip file that is damaged or cut off"),
        (b"\x1f\x8b\x08nonsense", "a gzip file that is damaged"),
        (b"\x7fELF\x02\x01\x01\x00\x00", "byte 7; a binary file that starts with"),
        (b"PK\x03\x04\x14\x00\x00", "a binary file"),
        (b"PAR1 but no more", "Parquet|parquet"),
        (DESCRIBE.read_bytes()[:400] + b"\xe9t\xe9\n", r"line 4; byte .* is not UTF-8"),
        (b"\xff\xfeT\x00o", "is not UTF-16-LE"),
        (b"[2026-11-21 07:04:43,527] WARN nothing but this\n", "nothing but log output is in it"),
        (b"hello world\n", "line 1; an unknown format that begins with 'hello world'"),
        (b"<html><body>Topic: x</body></html>", "an unknown format that begins with '<html>"),
        (b"{}", "it is an empty JSON object"),
        (b"[1, 2]", "it is a JSON array"),
        (b'{"a": 1, "b": 2}', "it is JSON with the fields a, b, not that of kcat -L -J"),
        (b'{"version":1,"partitions":[{"topic":"a"}]}', "it is a reassignment in JSON"),
        (b'{"version":1,"brokers":[]}', "it is the JSON of kafka-log-dirs"),
        (b'{"schema":"kreplica/describe/v1","partitions":[]}', "it is the output of kreplica describe"),
        (b'{"brokers": [], "topics": [', "no valid JSON"),
        (b'{"brokers": [', "no valid JSON"),
        (b"orders\npayments\n", "it seems to be the output of kafka-topics --list; with --describe"),
        (b"orders:0:120\norders:1:98\n", "it seems to be the output of kafka-get-offsets"),
    ],
)
def test_what_is_no_dump_is_refused_with_what_was_seen(tmp_path: Path, content: bytes, reason: str) -> None:
    path = stored(tmp_path, content)
    with pytest.raises(InputError, match=reason) as caught:
        read_dump(path)
    assert str(caught.value).startswith(f"cannot read {path}")


@pytest.mark.parametrize(
    ("recording", "tool"),
    [
        ("logdirs.txt", "kafka-log-dirs --describe"),
        ("reassignments.txt", "kafka-reassign-partitions --list"),
        ("configs-topics.txt", "kafka-configs --describe"),
        ("quorum-status.txt", "kafka-metadata-quorum describe"),
        ("quorum-replication.txt", "kafka-metadata-quorum describe"),
        ("features.txt", "kafka-features describe"),
    ],
)
def test_the_output_of_kafkas_other_tools_is_named(recording: str, tool: str) -> None:
    message = refusal(GOLDEN / "kafka-4.3.1" / "2-broker-killed" / recording)
    assert f"it seems to be the output of {tool};" in message
    assert "kreplica reads kreplica snapshot directories, the text of kafka-topics --describe" in message


def test_consumer_groups_are_named(tmp_path: Path) -> None:
    text = b"\nGROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET\nbilling  orders  0  1  1\n"
    assert "it seems to be the output of kafka-consumer-groups --describe" in refusal(stored(tmp_path, text))


def test_a_tool_that_failed_is_named() -> None:
    message = refusal(GOLDEN / "describe-layouts" / "unknown-topic.txt")
    assert "line 1; Kafka's tool failed: " in message
    assert "Topic 'Optional[nope]' does not exist" in message


def test_kcats_other_outputs_are_named() -> None:
    assert "it seems to be the output of kcat -L; with -J it prints JSON" in refusal(GOLDEN / "kcat" / "plain.txt")
    assert "line 3; kcat failed: '% ERROR: Failed to acquire metadata" in refusal(GOLDEN / "kcat" / "unreachable.txt")


def test_a_path_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert "there is no such file" in refusal(tmp_path / "nothing")
    assert "a directory without manifests" in refusal(tmp_path)
    (tmp_path / "file").write_bytes(b"x")
    assert "not a directory" in refusal(tmp_path / "file" / "below")


def test_a_snapshot_directory_gives_its_newest_snapshot(tmp_path: Path) -> None:
    snapshot = read_dump(str(DESCRIBE))
    write_snapshot(snapshot, tmp_path / "dump")
    again = read_dump(str(tmp_path / "dump"))
    assert again.source == "describe-text"
    assert list(again.partitions.rows()) == list(snapshot.partitions.rows())


def test_a_manifest_names_one_snapshot_of_many() -> None:
    fleet = DATA / "fleet"
    manifests = sorted((fleet / "manifests").glob("*.json"))
    assert len(manifests) == 12
    assert "snapshots of 2 clusters" in refusal(fleet)
    for path in manifests:
        snapshot = read_dump(str(path))
        assert snapshot.cluster_id in path.name
        assert f"{snapshot.taken_at:%Y%m%dT%H%M%S}" in path.name


def test_a_partitions_table_is_read_by_itself() -> None:
    path = next((DATA / "sample" / "partitions").rglob("*.parquet"))
    snapshot = read_dump(str(path))
    assert keys(snapshot) == keys(read_dump("sample"))


def test_stored_snapshots_are_not_read_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (next(DATA.glob("sample/partitions/**/*.parquet")), next(DATA.glob("sample/manifests/*.json"))):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(path.read_bytes())))
        assert "cannot be read from standard input" in refusal("-")


def test_a_file_called_sample_is_reached_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample").write_bytes(KCAT.read_bytes())
    assert keys(read_dump("./sample")) == LISTED
    assert len(read_dump("sample").partitions) == 145


def make_sample() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_sample", GOLDEN / "make_sample.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_same(packaged: ClusterSnapshot, made: ClusterSnapshot) -> None:
    assert (packaged.cluster_id, packaged.name, packaged.taken_at) == (made.cluster_id, made.name, made.taken_at)
    assert (packaged.controller, packaged.features) == (made.controller, made.features)
    for schema in TABLES:
        assert list(packaged.table(schema).rows()) == list(made.table(schema).rows()), schema.name


@pytest.mark.parametrize(("name", "state"), [("sample", "2-broker-killed"), ("sample-healthy", "1-healthy")])
def test_the_packaged_samples_are_recorded_states(name: str, state: str) -> None:
    maker = make_sample()
    recorded = maker.recorded_snapshot("kafka-4.3.1", state, name)
    assert_same(read_dump(name), maker.with_short_racks(recorded))


def test_nothing_is_wrong_with_the_healthy_sample() -> None:
    """As Kafka's tool said of that cluster at that moment: it listed nothing."""
    folder = GOLDEN / "kafka-4.3.1" / "1-healthy"
    for listing in ("under-replicated", "unavailable"):
        assert (folder / f"topics-{listing}-partitions.txt").read_text() == ""
    sample = read_dump("sample-healthy")
    assert all(sample.is_alive(broker) for broker in (1, 2, 3))
    assert all(len(row["isr"]) == len(row["replicas"]) and row["leader"] >= 0 for row in sample.partitions.rows())
    assert sum(bool(row["voter"]) for row in sample.quorum.rows()) == 3


def test_the_sample_lists_what_kafkas_own_tool_listed() -> None:
    """The tool's --under-replicated-partitions on the cluster from which the sample is."""
    listed = read_dump(str(GOLDEN / "kafka-4.3.1" / "2-broker-killed" / "topics-under-replicated-partitions.txt"))
    sample = read_dump("sample")
    short = {
        (row["topic"], row["partition"]) for row in sample.partitions.rows() if len(row["isr"]) < len(row["replicas"])
    }
    assert short == keys(listed)
    assert len(short) == 141
    brokers = {row["broker"]: (row["rack"], row["alive"], row["fenced"]) for row in sample.brokers.rows()}
    assert brokers == {1: ("r1", True, False), 2: ("r2", True, False), 3: ("r3", False, True)}


def test_the_packaged_fleet_is_the_recorded_states() -> None:
    maker = make_sample()
    listing = list_manifests([DATA / "fleet"])
    assert listing.problems == ()
    packaged = {(found.snapshot.name, found.snapshot.taken_at): found for found in listing.manifests}
    made = [
        maker.recorded_snapshot(cluster, state) for cluster in ("kafka-4.3.1", "kafka-3.9.2") for state in maker.STATES
    ]
    assert len(made) == len(packaged) == 12
    for snapshot in made:
        assert_same(read_snapshot_files(packaged[snapshot.name, snapshot.taken_at]), snapshot)


def test_the_packaged_dumps_are_small() -> None:
    assert sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file()) < 600_000
    assert read_dump_directory(DATA / "sample").cluster_id == "i0iQ6TlnRRmrapXchcJ1Uw"
