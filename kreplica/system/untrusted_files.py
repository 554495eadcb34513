"""Reading of files that others may have made: the one way to open, read and decode them, under limits.

A limit on the kind (a regular file; where the user named it also a pipe or the null device), the size, the depth of
nesting, the length of a number and the year of a moment. Whatever is beyond one is an error with a reason, told at
once: no device is read, no pipe without a writer is waited for, and the machine's memory is never filled.
"""

from __future__ import annotations

import errno
import os
import re
import selectors
import stat
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from kreplica.errors import ConfigurationError, as_clause

MOST_BYTES = 64 << 20
"""Settings, keys, tokens, plans of faults: files that people write are far smaller."""
MOST_DUMP_BYTES = 1 << 30
"""Dumps and plans of whole clusters: `kafka-topics --describe` prints some 150 bytes for a partition."""
LIMIT_VARIABLE = "KREPLICA_MAX_INPUT_BYTES"
"""Environment variable that replaces MOST_DUMP_BYTES."""
FIRST_YEAR, LAST_YEAR = 1970, 2200
"""Years a snapshot can be of: later ones do not fit into the 64-bit nanoseconds of pandas and Spark."""
WRITER_SECONDS = 10.0
"""Seconds that a named pipe may be without a program that writes to it."""
_PIECE_BYTES = 1 << 20
_KEY = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DOTTED = re.compile(rf"(?<![\w-]){_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{64}}")
"""A dotted key of TOML that opens 64 tables: tomllib takes memory by the square of their number."""


class MalformedError(ValueError):
    """Content that is not of its format, or beyond a limit; the text is a clause that says why.

    Args:
        text: The clause, with the place where one is known.
        reason: The clause without the place.
        place: The path (``$.brokers[0]``) of a value that does not fit in JSON that is well formed; None where the
            content is not.
    """

    def __init__(self, text: str, reason: str = "", place: str | None = None) -> None:
        super().__init__(text)
        self.reason = reason or text
        self.place = place


def input_limit() -> int:
    """The most bytes of a dump, as a file, inflated or as columns in memory.

    Raises:
        ConfigurationError: The environment variable is no number of bytes.
    """
    text = os.environ.get(LIMIT_VARIABLE, "")
    if not text:
        return MOST_DUMP_BYTES
    if not re.fullmatch(r"[1-9][0-9]{0,17}", text):
        raise ConfigurationError(f"{LIMIT_VARIABLE} is {text!r}", "expected a number of bytes", f"{MOST_DUMP_BYTES}")
    return int(text)


def beyond_limit(most: int) -> str:
    """Why something is refused that is larger than so many bytes."""
    if most == input_limit():
        return f"more than {most} bytes; {LIMIT_VARIABLE} raises this limit"
    return f"more than {most} bytes, which no such file has"


def open_file(path: Path, *, named: bool = False) -> int:
    """Opens a file for reading, without waiting for anything.

    Args:
        path: The file; links are followed.
        named: Whether the user named it, who may also mean a pipe (``<(kafka-topics.sh --describe)``) or the null
            device; in a directory neither is what it should be.

    Returns:
        Its descriptor, not blocking where it is a pipe.

    Raises:
        OSError: It cannot be opened, or is a device, a socket, a directory, or a pipe where none is taken.
    """
    return _open(path, named=named)[0]


def _open(path: Path | str, *, named: bool) -> tuple[int, os.stat_result]:
    # Before it is opened: to open a device may do something.
    refuse_special(os.stat(path), named=named)  # noqa: PTH116 - a Path for each of many costs as much as the call
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        refuse_special(status, named=named)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, status


def refuse_special(status: os.stat_result, *, named: bool = False) -> None:
    """Refuses what is no regular file.

    Raises:
        OSError: As ``open_file``.
    """
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if named and (stat.S_ISFIFO(status.st_mode) or _is_null_device(status)):
        return
    kind = next(word for test, word in _SPECIAL if test(status.st_mode))
    raise OSError(errno.EINVAL, f"{kind}, neither a file nor a pipe" if named else f"{kind}, not a file")


_SPECIAL: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (lambda _: True, "a device"),
)


def _is_null_device(status: os.stat_result) -> bool:
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == Path(os.devnull).stat().st_rdev


def read_whole(path: Path | str, most: int = MOST_BYTES, *, named: bool = True) -> bytes:
    """Reads a file to its end.

    Args:
        path: The file.
        most: The most bytes it may have.
        named: As ``open_file``.

    Raises:
        OSError: As ``open_file``, or it cannot be read, or is longer than ``most`` bytes.
    """
    descriptor, status = _open(path, named=named)
    try:
        return _content(descriptor, status, most)
    finally:
        os.close(descriptor)


def _content(descriptor: int, status: os.stat_result, most: int) -> bytes:
    """All that can be read. A small file is read at once, where it has the size that its status tells."""
    if stat.S_ISREG(status.st_mode) and 0 < status.st_size <= min(most, _PIECE_BYTES):
        whole = os.pread(descriptor, status.st_size + 1, 0)
        if len(whole) == status.st_size:
            return whole
    return b"".join(_pieces(_reader(descriptor, status), most))


def read_with_status(path: Path, most: int, *, named: bool = True) -> tuple[bytes, os.stat_result]:
    """As ``read_whole``, with the status of what was read.

    Raises:
        OSError: As ``read_whole``.
    """
    descriptor, status = _open(path, named=named)
    try:
        return _content(descriptor, status, most), os.fstat(descriptor)
    finally:
        os.close(descriptor)


def copy_whole(path: Path, copy: BinaryIO, most: int) -> None:
    """Writes what a file or pipe, named by the user, holds into another file.

    Raises:
        OSError: As ``read_whole``, or the copy cannot be written.
    """
    descriptor, status = _open(path, named=True)
    try:
        for piece in _pieces(_reader(descriptor, status), most):
            copy.write(piece)
    finally:
        os.close(descriptor)


def read_to_end(stream: BinaryIO, most: int) -> bytes:
    """Reads a stream, standard input for one, to its end.

    Raises:
        OSError: It cannot be read, is longer than ``most`` bytes, or is a device without an end.
    """
    return b"".join(_stream_pieces(stream, most))


def copy_to_end(stream: BinaryIO, copy: BinaryIO, most: int) -> None:
    """Writes a stream, to its end, into a file.

    Raises:
        OSError: As ``read_to_end``, or the copy cannot be written.
    """
    for piece in _stream_pieces(stream, most):
        copy.write(piece)


def _stream_pieces(stream: BinaryIO, most: int) -> Iterator[bytes]:
    try:
        status = os.fstat(stream.fileno())
    except (OSError, AttributeError):  # no file of the operating system
        status = None
    device = status is not None and (stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode))
    if status is not None and device and not stream.isatty() and not _is_null_device(status):
        raise OSError(errno.EINVAL, "a device, neither a file nor a pipe")
    return _pieces(stream.read, most)


def _pieces(read: Callable[[int], bytes], most: int) -> Iterator[bytes]:
    left = most
    while piece := read(min(_PIECE_BYTES, left + 1)):
        left -= len(piece)
        if left < 0:
            raise OSError(errno.EFBIG, beyond_limit(most))
        yield piece


def _reader(descriptor: int, status: os.stat_result) -> Callable[[int], bytes]:
    """Reads a file, or a pipe whose writer may be still to come."""
    if stat.S_ISREG(status.st_mode):
        return partial(os.read, descriptor)
    waiting = stat.S_ISFIFO(status.st_mode) and status.st_dev != _device_of_pipes()
    deadline = time.monotonic() + WRITER_SECONDS

    def read(size: int) -> bytes:
        nonlocal waiting
        while True:
            try:
                piece = os.read(descriptor, size)
            except BlockingIOError:  # it has a writer, which has not written yet
                waiting = False
                wait_readable(descriptor)
                continue
            waiting = waiting and not piece
            if not waiting:
                return piece
            if time.monotonic() > deadline:
                raise OSError(errno.EPIPE, f"a pipe to which no program wrote for {WRITER_SECONDS:g} s")
            time.sleep(0.02)

    return read


def wait_readable(descriptor: int, seconds: float | None = None) -> bool:
    """Waits until a pipe or socket, whatever its number, has bytes or its end to read; False where the time is up.

    Args:
        descriptor: The pipe or socket; select.select would take none from 1024 on.
        seconds: At most so long; None for as long as it takes.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(seconds))


def _device_of_pipes() -> int:
    """The device of pipes without a name (``<(program)``): those have had a writer from the beginning."""
    ends = os.pipe()
    try:
        return os.fstat(ends[0]).st_dev
    finally:
        for end in ends:
            os.close(end)


def changed_at(status: os.stat_result) -> datetime:
    """When a file was last changed, UTC; now for a pipe, which is read while it is written, and for a time no file has.

    Times are in milliseconds.
    """
    seconds, rest = divmod(status.st_mtime_ns // 1_000_000, 1000)
    if not stat.S_ISREG(status.st_mode) or not _SECONDS[0] <= seconds < _SECONDS[1]:
        seconds, rest = divmod(time.time_ns() // 1_000_000, 1000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * 1000)


_SECONDS = (0, int(datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC).timestamp()))


def check_moment(moment: datetime) -> datetime:
    """The moment in UTC.

    Raises:
        MalformedError: No snapshot can be of its year.
    """
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise MalformedError(f"its time is of the year {moment.year}, expected {FIRST_YEAR} to {LAST_YEAR}")
    return moment.astimezone(UTC)


def decode_json(content: bytes | str, kind: Any = Any) -> Any:
    """Decodes JSON.

    Args:
        content: The document.
        kind: What it has to be, as msgspec takes it.

    Raises:
        MalformedError: It is no JSON, not of that kind, nested too deeply, or has a number that is too long.
    """
    import msgspec

    try:
        return _decoder(kind).decode(content)
    except RecursionError:
        raise MalformedError("nested too deeply") from None
    except msgspec.ValidationError as error:
        reason, _, place = as_clause(str(error)).partition(" - at ")
        raise MalformedError(as_clause(str(error)), reason, place.strip("`") or "$") from None
    except (msgspec.DecodeError, ValueError) as error:
        raise MalformedError(as_clause(str(error))) from None


_DECODERS: dict[Any, Any] = {}
_MAKING = threading.Lock()


def _decoder(kind: Any) -> Any:
    """The decoder of a kind, made by one thread alone.

    msgspec keeps with a class what it has found out about its fields, before it has found out all of it: a second
    thread that decodes the same class meanwhile ends the process.
    """
    import msgspec

    found = _DECODERS.get(kind)
    if found is None:
        with _MAKING:
            found = _DECODERS[kind] = msgspec.json.Decoder(kind)
    return found


def decode_toml(text: str) -> dict[str, Any]:
    """Decodes TOML.

    Raises:
        MalformedError: It is no TOML, nested too deeply, or has a number that is too long.
    """
    import tomllib

    if _DOTTED.search(text):
        raise MalformedError("nested too deeply")
    try:
        document = tomllib.loads(text)
        _check_numbers(document)
        return document
    except RecursionError:
        raise MalformedError("nested too deeply") from None
    except MalformedError:
        raise
    except tomllib.TOMLDecodeError as error:
        raise MalformedError(str(error)) from None
    except ValueError as error:
        reason = "a number is too long" if "digits" in str(error) else as_clause(str(error))
        raise MalformedError(reason) from None


def _check_numbers(value: object) -> None:
    """Refuses integers beyond 64 bits, which TOML does not have; in hexadecimal they pass tomllib at any length."""
    if isinstance(value, int) and value.bit_length() > 63:
        raise MalformedError("a number is too long")
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            _check_numbers(each)
