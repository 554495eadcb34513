"""Files in an S3 store: made only where none is, named when the store refuses, secrets never told."""

from __future__ import annotations

import errno
import os
import pickle
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from loopback.object_store import SECRET, ObjectStore, losing_first_answers, object_store

from kreplica.errors import AuthenticationError, ConfigurationError, KreplicaError, UnreachableError, UsageError
from kreplica.system.redaction import without_secrets
from kreplica.system.stores import s3
from kreplica.system.stores.locations import place_of, storage_at
from kreplica.system.stores.s3 import S3Place, S3Storage
from kreplica.system.stores.storage import put


@pytest.fixture(scope="module")
def started() -> Iterator[ObjectStore]:
    with object_store() as running:
        running.client().create_bucket(Bucket="fleet")
        yield running


@pytest.fixture
def store(started: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    for name, value in started.environment.items():
        monkeypatch.setenv(name, value)
    return started


@pytest.fixture
def storage(store: ObjectStore, request: pytest.FixtureRequest) -> S3Storage:
    """A place of the test's own."""
    return S3Storage(S3Place("fleet", re.sub(r"\W", "-", request.node.name)))


def test_a_file_is_made_once_and_read_as_it_was_made(storage: S3Storage, store: ObjectStore) -> None:
    assert storage.create("a b/ü%2F.json", b"first")
    assert not storage.create("a b/ü%2F.json", b"second")
    assert storage.read("a b/ü%2F.json", 5) == b"first"
    assert store.contents("fleet", storage.place.prefix + "/") == {"a b/ü%2F.json": b"first"}


def test_after_a_lost_answer_the_writer_knows_its_own_file(storage: S3Storage) -> None:
    storage.create("taken", b"same")
    with losing_first_answers(s3._client(), "own", "taken"):
        assert storage.create("own", b"same")
        assert not storage.create("taken", b"same"), "equal bytes of another writer are not one's own"
    assert storage.read("own", 4) == b"same"


def test_a_file_that_is_removed_meanwhile_is_not_ones_own(storage: S3Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.require_conditions()
    with losing_first_answers(s3._client(), "gone"), monkeypatch.context() as patched:
        head = s3._client().head_object
        patched.setattr(s3._client(), "head_object", lambda **where: (storage.remove("gone"), head(**where))[1])
        assert not storage.create("gone", b"")


def test_of_many_writers_one_wins(storage: S3Storage) -> None:
    storage.require_conditions()
    with ThreadPoolExecutor(20) as pool:
        made = list(pool.map(lambda number: storage.create("manifest", b"%d" % number), range(20)))
    assert made.count(True) == 1
    assert storage.read("manifest", 9) == b"%d" % made.index(True)


def test_names_are_those_of_the_folder(storage: S3Storage, store: ObjectStore) -> None:
    for path in ("x/b", "x/a", "x/.hidden", "x/below/c", "xx/d", "e"):
        storage.create(path, b"1")
    store.client().put_object(Bucket="fleet", Key=f"{storage.place.prefix}/x/", Body=b"")  # as consoles make folders
    assert storage.names("x") == ["a", "b", "below"]
    assert storage.names("") == ["e", "x", "xx"]
    assert storage.names("none") == []
    assert storage.sizes("x") == {"x/a": 1, "x/b": 1, "x/below/c": 1}
    whole = S3Storage(S3Place("fleet"))
    assert storage.place.prefix in whole.names("")
    assert whole.read(f"{storage.place.prefix}/e", 1) == b"1"


@pytest.mark.one_python
def test_more_names_than_one_answer_holds(storage: S3Storage, store: ObjectStore) -> None:
    client = store.client()
    with ThreadPoolExecutor(8) as pool:
        keys = [f"{storage.place.prefix}/many/{number:04}" for number in range(1_050)]
        list(pool.map(lambda key: client.put_object(Bucket="fleet", Key=key, Body=b""), keys))
    assert storage.names("many") == [f"{number:04}" for number in range(1_050)]
    assert len(storage.sizes("many")) == 1_050
    assert storage.names("many", "1040") == [f"{number:04}" for number in range(1_040, 1_050)]
    assert storage.names("many", "1040", "1041")[0] == "1040"
    assert storage.names("many", end="0100") == [f"{number:04}" for number in range(1_000)], "one answer is enough"
    assert storage.names("many", "2") == []


def test_what_is_not_there_or_too_long_is_an_error_of_the_system(storage: S3Storage) -> None:
    storage.create("ten", b"0123456789")
    with pytest.raises(FileNotFoundError):
        storage.read("none", 10)
    with pytest.raises(OSError, match="large") as found:
        storage.read("ten", 9)
    assert found.value.errno == errno.EFBIG
    assert storage.age("none") is None
    assert not storage.renew("none")
    storage.remove("none")
    storage.remove("ten")
    assert storage.names("") == []


def test_ages_go_by_the_clock_of_the_store(storage: S3Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    put(storage, "file", b"content")
    time.sleep(2.1)
    age = storage.age("file")
    assert age is not None
    assert 2 <= age < 60
    put(storage, "file", b"content")  # it is there, and is made young
    younger = storage.age("file")
    assert younger is not None
    assert younger < age
    assert storage.read("file", 7) == b"content"


def test_copies_on_disk_go_with_the_storage(storage: S3Storage) -> None:
    storage.create("partitions/date=2026-11-01/p.parquet", b"PAR1")
    copy = storage.on_disk("partitions/date=2026-11-01/p.parquet")
    assert copy.read_bytes() == b"PAR1"
    assert copy.parent.name == "date=2026-11-01"
    assert storage.on_disk("partitions/date=2026-11-01/p.parquet") == copy
    with pytest.raises(FileNotFoundError):
        storage.on_disk("none")
    again = S3Storage(storage.place)
    other = again.on_disk("partitions/date=2026-11-01/p.parquet")
    assert other != copy
    del again
    assert not other.exists()
    assert copy.exists()


def test_a_full_disk_is_named_with_the_folder_of_the_copies(
    storage: S3Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.create("a", b"1")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(UsageError, match=r"no room in .*kreplica-copies-.* for a copy") as found:
        storage.on_disk("a")
    assert "TMPDIR" in found.value.fix


def test_a_process_that_was_forked_has_connections_of_its_own(storage: S3Storage) -> None:
    storage.create("a", b"1")
    client = s3._client()
    assert s3._client() is client
    number = os.fork()
    if number == 0:
        done = (
            storage.create("b", b"2") and storage.read("a", 1) == b"1" and pickle.loads(pickle.dumps(storage)).names("")
        )
        os._exit(0 if done == ["a", "b"] and s3._client() is not client else 1)
    assert os.waitpid(number, 0)[1] == 0
    assert storage.names("") == ["a", "b"]


def refused(storage: S3Storage, *, write: bool = True) -> KreplicaError:
    with pytest.raises(KreplicaError) as found:
        storage.create("a", b"") if write else storage.names("")
    assert SECRET not in str(found.value)
    return found.value


@pytest.mark.parametrize("write", [True, False])
def test_a_bucket_that_is_not_there(store: ObjectStore, write: bool) -> None:
    error = refused(S3Storage(S3Place("none", "x")), write=write)
    assert type(error) is UsageError
    assert error.what.startswith("s3://none/x")
    assert f"there is no such bucket at {store.endpoint}" in error.what


def test_no_credentials(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    error = refused(S3Storage(S3Place("fleet")))
    assert isinstance(error, ConfigurationError)
    assert "AWS_PROFILE" in error.fix


def test_a_profile_that_is_not_there(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "night-shift")
    error = refused(S3Storage(S3Place("fleet")))
    assert isinstance(error, ConfigurationError)
    assert "night-shift" in error.why


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("AWS_ENDPOINT_URL", "nonsense", "Invalid endpoint: nonsense"),
        ("AWS_REGION", "not a region", "'not a region'"),
        ("AWS_CONFIG_FILE", "/etc/passwd", "Unable to parse config file: /etc/passwd"),
    ],
)
def test_settings_that_cannot_be_used(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    error = refused(S3Storage(S3Place("fleet")))
    assert isinstance(error, ConfigurationError)
    assert said in error.why
    assert name in error.fix or "~/.aws" in error.fix


def test_the_words_of_a_program_that_gives_credentials_are_not_shown(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text("[profile p]\ncredential_process = sh -c 'echo pass-word >&2; exit 3'\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "p")
    error = refused(S3Storage(S3Place("fleet")))
    assert isinstance(error, ConfigurationError)
    assert "custom-process failed" in error.why
    assert "pass-word" not in str(error)


def test_a_proxy_that_does_not_answer(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.endpoint + "/")  # a client of its own
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://user:pass-word@127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "")
    error = refused(S3Storage(S3Place("fleet")))
    assert isinstance(error, UnreachableError)
    assert "the proxy to" in error.what
    assert "pass-word" not in str(error)


def test_a_profile_is_heeded(
    store: ObjectStore, storage: S3Storage, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name)
    (tmp_path / "config").write_text(f"[profile night-shift]\nendpoint_url = {store.endpoint}\nregion = eu-west-1\n")
    (tmp_path / "keys").write_text("[night-shift]\naws_access_key_id = k\naws_secret_access_key = of-the-night-shift\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "keys"))
    monkeypatch.setenv("AWS_PROFILE", "night-shift")
    assert storage.create("a", b"1")
    assert storage.names("") == ["a"]
    assert without_secrets("it was of-the-night-shift") == "it was (hidden)"


def test_nobody_answers(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://user:pass-word@127.0.0.1:1")
    error = refused(S3Storage(S3Place("fleet")))
    assert isinstance(error, UnreachableError)
    assert "127.0.0.1:1" in error.what
    assert "pass-word" not in str(error)


def test_an_answer_that_does_not_come(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(s3, "READ_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{mute.getsockname()[1]}")
        error = refused(S3Storage(S3Place("fleet")))
    assert isinstance(error, UnreachableError)
    assert "in time" in error.what


@pytest.mark.parametrize(
    ("status", "code", "kind", "words"),
    [
        (403, "AccessDenied", UsageError, "access is denied"),
        (403, "InvalidAccessKeyId", AuthenticationError, "refuses the credentials"),
        (403, "SignatureDoesNotMatch", AuthenticationError, "refuses the credentials"),
        (400, "ExpiredToken", AuthenticationError, "refuses the credentials"),
        (403, "RequestTimeTooSkewed", AuthenticationError, "the time of a request"),
        (507, "XMinioStorageFull", UsageError, "no room left"),
        (503, "SlowDown", UnreachableError, "does not serve"),
        (501, "NotImplemented", UsageError, "cannot be written to safely"),
        (400, "MalformedXML", UsageError, "refused by"),
    ],
)
def test_refusals_by_the_codes_of_the_protocol(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch, status: int, code: str, kind: type[Exception], words: str
) -> None:
    with answering(status, code) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        error = refused(S3Storage(S3Place("fleet", "x")))
    assert type(error) is kind or (words.startswith("cannot") and isinstance(error, kind))
    assert words in error.what
    assert "s3://fleet/x" in error.what


def test_a_store_that_overwrites_is_found_out_before_a_file_is_made(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(200, "") as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        error = refused(S3Storage(S3Place("fleet", "x")))
    assert "does not heed If-None-Match" in error.why


def test_two_writers_in_conflict_try_again(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(409, "ConditionalRequestConflict", (412, "PreconditionFailed")) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        storage = S3Storage(S3Place("fleet", "x"))
        assert not storage.create("a", b"")


def answering(*answers: Any) -> Any:
    """A server that refuses everything in the same way: once by each pair but the last, which stays."""
    import contextlib
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    pairs = [answers[:2], *answers[2:]]

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, code = pairs.pop(0) if len(pairs) > 1 else pairs[0]
            said = f"<Error><Code>{code}</Code><Message>so be it</Message></Error>".encode() if code else b""
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            pass

    @contextlib.contextmanager
    def running() -> Iterator[str]:
        with HTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.02,))
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_address[1]}"
            finally:
                server.shutdown()
                thread.join()

    return running()


def test_places_are_paths_and_urls(tmp_path: Any) -> None:
    assert place_of("s3://buc/x//y/") == S3Place("buc", "x/y")
    assert str(S3Place("buc") / "x") == "s3://buc/x"
    assert (S3Place("buc", "x/y").name, S3Place("buc", "x/y").parent) == ("y", S3Place("buc", "x"))
    assert place_of("file:///a%20b/c") == place_of("/a b/c")
    assert place_of("a:b/c") == place_of("./a:b/c")
    storage = storage_at(place_of(f"file://{tmp_path}"))
    assert storage.create("f", b"1")
    assert (tmp_path / "f").read_bytes() == b"1"
    for text in (
        "",
        "s3://",
        "s3:///x",
        "s3://bu",
        "s3://bucket!/x",
        "s3://buc/../c",
        "gs://buc/x",
        "s3a://b/x",
        "file://host/x",
        "http://b",
    ):
        with pytest.raises(UsageError):
            place_of(text)


def test_without_the_client_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "botocore.session", None)
    error = refused(S3Storage(S3Place("fleet")))
    assert "kreplica[s3]" in error.fix
