"""Files of others are read under limits of kind, size, nesting, numbers, years: none hangs, none fills the memory."""

from __future__ import annotations

import fcntl
import io
import os
import resource
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest

from kreplica.errors import ConfigurationError
from kreplica.system import untrusted_files
from kreplica.system.untrusted_files import (
    LIMIT_VARIABLE,
    MOST_DUMP_BYTES,
    MalformedError,
    changed_at,
    check_moment,
    decode_json,
    decode_toml,
    input_limit,
    open_file,
    read_to_end,
    read_whole,
    wait_readable,
)


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1, (2 << 20) - 1, 2 << 20])
def test_what_is_not_too_large_is_read(size: int, tmp_path: Path) -> None:
    content = bytes(size)
    assert read_to_end(io.BytesIO(content), 2 << 20) == content
    (tmp_path / "file").write_bytes(content)
    assert read_whole(tmp_path / "file", 2 << 20) == content


def test_one_byte_more_is_too_much(tmp_path: Path) -> None:
    stream = io.BytesIO(bytes((8 << 20) + 1))
    with pytest.raises(OSError, match="more than 2097152 bytes"):
        read_to_end(stream, 2 << 20)
    assert stream.tell() == (2 << 20) + 1  # the rest is not even read
    (tmp_path / "file").write_bytes(bytes((2 << 20) + 1))
    with pytest.raises(OSError, match="more than 2097152 bytes"):
        read_whole(tmp_path / "file", 2 << 20)


@pytest.mark.parametrize("named", [True, False])
def test_what_has_no_end_is_refused(named: bool, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/zero")
    for path in (Path("/dev/zero"), link):
        with pytest.raises(OSError, match="a device, "):
            read_whole(path, named=named)


def test_kinds_that_are_no_files_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        (tmp_path / "loop").symlink_to("loop")
        begun = time.monotonic()
        for name, reason in (("pipe", "a pipe, not a file"), ("socket", "a socket, not a file"), ("", "[Ii]s a dir")):
            with pytest.raises(OSError, match=reason):
                open_file(tmp_path / name)
        with pytest.raises(OSError, match="symbolic links"):
            open_file(tmp_path / "loop")
    assert time.monotonic() - begun < 1
    with pytest.raises(OSError, match="a device, not a file"):
        open_file(Path(os.devnull))
    assert read_whole(Path(os.devnull)) == b""  # named, as in --command-config /dev/null


def test_a_pipe_that_the_user_named_is_read_when_its_writer_comes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = (
        "import sys, time; time.sleep(0.3); pipe = open(sys.argv[1], 'wb', buffering=0)\n"
        "for piece in (b'a', b'b'): time.sleep(0.2); pipe.write(piece)"
    )
    with subprocess.Popen([sys.executable, "-c", writer, str(pipe)]):
        assert read_whole(pipe) == b"ab"


def test_a_pipe_without_a_writer_is_waited_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(untrusted_files, "WRITER_SECONDS", 0.3)
    with pytest.raises(OSError, match=r"no program wrote for 0\.3 s"):
        read_whole(tmp_path / "pipe")
    monkeypatch.setattr(untrusted_files, "WRITER_SECONDS", 60.0)
    ends = os.pipe()
    os.close(ends[1])
    try:  # as in <(true): it had a writer, so nothing is waited for
        assert read_whole(Path(f"/dev/fd/{ends[0]}")) == b""
    finally:
        os.close(ends[0])


def test_descriptors_above_those_that_select_takes() -> None:
    """Of a program that has 1,024 files open: FD_SETSIZE of glibc (select(2))."""
    highest = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert highest > 1200, "raise ulimit -n to run this"
    reading, writing = os.pipe()
    high = fcntl.fcntl(reading, fcntl.F_DUPFD_CLOEXEC, 1100)
    try:
        assert not wait_readable(high, 0.01)
        os.write(writing, b"x")
        assert wait_readable(high)
        os.read(high, 1)
        os.close(writing)
        assert wait_readable(high), "its end is something to read"
    finally:
        os.close(reading)
        os.close(high)


def test_the_limit_is_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(LIMIT_VARIABLE, raising=False)
    assert input_limit() == MOST_DUMP_BYTES
    monkeypatch.setenv(LIMIT_VARIABLE, "7")
    (tmp_path / "file").write_bytes(bytes(8))
    with pytest.raises(OSError, match=f"more than 7 bytes; {LIMIT_VARIABLE} raises this limit"):
        read_whole(tmp_path / "file", input_limit())
    for wrong in ("0", "-1", "1e9", "lots", "9" * 5000):
        monkeypatch.setenv(LIMIT_VARIABLE, wrong)
        with pytest.raises(ConfigurationError, match="expected a number of bytes"):
            input_limit()


@pytest.mark.parametrize("year", [1, 1969, 2201, 9999])
def test_moments_of_no_snapshot_are_refused(year: int) -> None:
    for offset in (14, 0, -12):
        with pytest.raises(MalformedError, match=f"of the year {year}, expected 1970 to 2200"):
            check_moment(datetime(year, 7, 1, tzinfo=timezone(timedelta(hours=offset))))


def test_moments_are_in_utc() -> None:
    moment = datetime(2026, 11, 21, 1, tzinfo=timezone(timedelta(hours=2)))
    assert check_moment(moment).isoformat() == "2026-11-20T23:00:00+00:00"


def test_a_file_of_no_time_was_changed_now(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    os.utime(path, ns=(0, 1_700_000_000_123_999_999))
    assert changed_at(path.stat()) == datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=UTC)
    values = list(path.stat())
    for seconds in (-1, 1 << 40, 1 << 62):  # as file systems with 64-bit times have them
        status = os.stat_result(values, {"st_mtime": float(seconds), "st_mtime_ns": seconds * 10**9})
        assert abs((changed_at(status) - datetime.now(UTC)).total_seconds()) < 60


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
        (b"9" * 5000, "out of range"),
        (b'"\xff"', "utf-8"),
        (b"\xff\xfe[\x00]\x00", "malformed"),
        (b"", "truncated"),
    ],
)
def test_json_beyond_limits_is_malformed(content: bytes, reason: str) -> None:
    with pytest.raises(MalformedError, match=reason):
        decode_json(content)


def test_json_of_another_kind_tells_where() -> None:
    with pytest.raises(MalformedError) as found:
        decode_json(b'{"a": [1, "b"]}', dict[str, list[int]])
    assert (found.value.place, found.value.reason) == ("$[...][1]", "expected `int`, got `str`")
    with pytest.raises(MalformedError, match="nested too deeply"):
        decode_json(b'{"a":' * 200_000, dict[str, msgspec.Raw])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = " + "[" * 20_000, "nested too deeply"),
        ("a = " + "{b=" * 20_000, "nested too deeply"),
        ("a." * 100_000 + "b = 1", "nested too deeply"),
        ("[" + '"a" . ' * 100_000 + "b]", "nested too deeply"),
        ("a = " + "9" * 5000, "a number is too long"),
        ("a = 0x" + "f" * 4000, "a number is too long"),
        ("a = [[-9223372036854775809]]", "a number is too long"),
        ("a = \x00", "Invalid value|Illegal"),
    ],
)
def test_toml_beyond_limits_is_malformed(text: str, reason: str) -> None:
    with pytest.raises(MalformedError, match=reason):
        decode_toml(text)


def test_toml_within_limits_is_decoded() -> None:
    hosts = ",".join(f"kafka-{number}.a.b.c.example.com:9092" for number in range(1000))
    assert decode_toml(f'a.b.c = 9223372036854775807\nhosts = "{hosts}"') == {
        "a": {"b": {"c": (1 << 63) - 1}},
        "hosts": hosts,
    }


def test_a_read_that_gives_less_than_there_is_is_not_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal may end a read early, also that of a regular file (read(2))."""
    path, whole = tmp_path / "file", os.pread
    path.write_bytes(b"0123456789")
    monkeypatch.setattr(os, "pread", lambda descriptor, size, at: whole(descriptor, min(size, 4), at))
    assert read_whole(path) == b"0123456789"


AT_ONCE = """
import sys, threading
from dataclasses import make_dataclass

from kreplica.system.untrusted_files import decode_json

sys.setswitchinterval(1e-6)
found = []
for number in range(150):
    inner = make_dataclass(f"Inner{number}", [(f"b{at}", int | None) for at in range(8)])
    kind = make_dataclass(f"Kind{number}", [*((f"a{at}", str) for at in range(8)), ("inner", inner)])
    texts = [f'"a{at}": "x"' for at in range(8)]
    numbers = [f'"b{at}": {at}' for at in range(8)]
    content = "{" + ",".join(texts) + ', "inner": {' + ",".join(numbers) + "}}"
    start = threading.Barrier(8)

    def decode(kind=kind, content=content, start=start):
        start.wait()
        found.append(decode_json(content, kind).inner.b7)

    threads = [threading.Thread(target=decode) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
assert found == [7] * 1200, len(found)
"""


def test_a_kind_that_is_new_may_be_decoded_by_several_threads_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
