"""Files in an object store that speaks S3, by botocore: credentials, profile, region and endpoint as the AWS tools
take them from the environment and from ~/.aws.

A file is made by a PUT with If-None-Match, which the store refuses where the name is taken. Stores that do not heed it
are found out before the first file is made.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import time
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any, TypeAlias

from kreplica.errors import MissingExtraError, UnreachableError, UsageError, os_reason
from kreplica.system.stores.s3_errors import IN_CONFLICT, TAKEN, NoConditionError, code_of, explained

SCHEME = "s3://"
Client: TypeAlias = Any  # botocore makes its classes at run time

_BUCKET = re.compile(r"[A-Za-z0-9._-]{3,255}")
CONNECT_SECONDS = 10
READ_SECONDS = 30
_TRIES = 5
_MARK = ".kreplica"
_MARK_CONTENT = b"Made to see whether the store makes a file only where none is. It may be removed.\n"
_WRITER = "kreplica-writer"
"""Metadata of each file: a random word by which its writer knows it again when the answer to the first try was lost."""
_REGION = "us-east-1"
"""Region if nothing names one: stores of other makers sign with it."""


@dataclass(frozen=True, slots=True)
class S3Place:
    """A bucket, or what is below a prefix of it; as a folder's path where there are folders.

    Args:
        bucket: Its name.
        prefix: Without slashes at its ends; empty for the whole bucket.
    """

    bucket: str
    prefix: str = ""

    @classmethod
    def of(cls, text: str) -> S3Place:
        """The place of an ``s3://bucket/prefix``.

        Raises:
            UsageError: It names no bucket.
        """
        bucket, _, prefix = text.removeprefix(SCHEME).partition("/")
        parts = [part for part in prefix.split("/") if part]
        if not _BUCKET.fullmatch(bucket) or ".." in parts or "." in parts:
            raise UsageError(f"{text} is no place in an object store", "", "s3://BUCKET/PREFIX")
        return cls(bucket, "/".join(parts))

    def __str__(self) -> str:
        return SCHEME + "/".join(filter(None, (self.bucket, self.prefix)))

    def __truediv__(self, path: str) -> S3Place:
        return S3Place(self.bucket, "/".join(filter(None, (self.prefix, path))))

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.prefix.rpartition("/")[2]

    @property
    def parent(self) -> S3Place:
        """The place that it is in."""
        return S3Place(self.bucket, self.prefix.rpartition("/")[0])


class S3Storage:
    """Storage in a bucket.

    Args:
        place: The root.
    """

    def __init__(self, place: S3Place) -> None:
        self.place = place
        self._heeds_conditions = False
        self._copies: Path | None = None
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[S3Storage], tuple[S3Place]]:
        return S3Storage, (self.place,)

    def names(self, folder: str, first: str = "", end: str = "") -> list[str]:
        """As Storage.names; one request for each thousand.

        Args:
            folder: The folder.
            first: Names before it are not asked for.
            end: Names from it on are not asked for; those that come with others are given all the same.
        """
        prefix = self._key(folder) + "/" if self._key(folder) else ""
        start = {"StartAfter": _just_before(prefix + first)} if first else {}
        found = set()
        for page in self._pages(prefix, Delimiter="/", **start):
            if end and page.get("Contents") and page["Contents"][0]["Key"] >= prefix + end:
                break
            for one in page.get("CommonPrefixes", ()):
                found.add(one["Prefix"].removeprefix(prefix).rstrip("/"))
            for one in page.get("Contents", ()):
                found.add(one["Key"].removeprefix(prefix))
        return sorted(name for name in found if name and not name.startswith("."))

    def sizes(self, folder: str) -> dict[str, int]:
        """As Storage.sizes; one request for each thousand."""
        root = f"{self.place.prefix}/" if self.place.prefix else ""
        pages = self._pages(self._key(folder) + "/" if self._key(folder) else "")
        found = {one["Key"].removeprefix(root): one["Size"] for page in pages for one in page.get("Contents", ())}
        return {
            path: size
            for path, size in found.items()
            if not path.endswith("/") and not any(part.startswith(".") for part in path.split("/"))
        }

    def read(self, path: str, most: int) -> bytes:
        """As Storage.read."""
        with self._explained(path) as client:
            for left in reversed(range(_TRIES)):
                try:
                    return self._read_once(client, path, most)
                except Exception as error:
                    if left == 0 or not _was_cut(error):
                        raise
        raise AssertionError("the last try returns or raises")

    def _read_once(self, client: Client, path: str, most: int) -> bytes:
        answer = client.get_object(Bucket=self.place.bucket, Key=self._key(path))
        with contextlib.closing(answer["Body"]) as body:
            if answer["ContentLength"] > most:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), self.named(path))
            content: bytes = body.read()
        return content

    def create(self, path: str, content: bytes) -> bool:
        """As Storage.create."""
        self.require_conditions()
        return self._create(path, content)

    def require_conditions(self) -> None:
        """Finds out that files can be made here, and only where none is.

        Raises:
            UsageError: They cannot.
            UnreachableError: The store does not answer.
        """
        if self._heeds_conditions:
            return
        if self._create(_MARK, _MARK_CONTENT) and self._create(_MARK, _MARK_CONTENT):
            raise NoConditionError(str(self.place))
        self._heeds_conditions = True

    def _create(self, path: str, content: bytes) -> bool:
        from botocore.exceptions import ClientError

        where, writer = {"Bucket": self.place.bucket, "Key": self._key(path)}, {_WRITER: secrets.token_hex(8)}
        with self._explained(path) as client:
            for number in range(_TRIES):
                try:
                    client.put_object(**where, Body=content, IfNoneMatch="*", Metadata=writer)
                except ClientError as error:
                    if code_of(error.response) in TAKEN:
                        return _was_sent_again(error.response) and self._is_of(path, writer)
                    if code_of(error.response) not in IN_CONFLICT:
                        raise
                    time.sleep(0.1 * 2**number)
                else:
                    return True
        raise UnreachableError(f"{self.named(path)}: others make it at the same time", "", "try again")

    def _is_of(self, path: str, writer: Mapping[str, str]) -> bool:
        """True if that writer made a file; one that was renewed meanwhile names none."""
        try:
            with self._explained(path) as client:
                found: Mapping[str, Any] = client.head_object(Bucket=self.place.bucket, Key=self._key(path))
        except FileNotFoundError:
            return False
        return bool(found["Metadata"] == writer)

    def age(self, path: str) -> float | None:
        """As Storage.age; by the store's clock."""
        try:
            with self._explained(path) as client:
                answer = client.head_object(Bucket=self.place.bucket, Key=self._key(path))
        except FileNotFoundError:
            return None
        from email.utils import parsedate_to_datetime

        now = parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"])
        return max(0.0, float((now - answer["LastModified"]).total_seconds()))

    def size(self, path: str) -> int:
        """Size of a file.

        Raises:
            FileNotFoundError: It is not there.
        """
        with self._explained(path) as client:
            return int(client.head_object(Bucket=self.place.bucket, Key=self._key(path))["ContentLength"])

    def renew(self, path: str) -> bool:
        """As Storage.renew: an object copied onto itself is as young as a new one."""
        whole = {"Bucket": self.place.bucket, "Key": self._key(path)}
        try:
            with self._explained(path) as client:
                client.copy_object(**whole, CopySource=whole, MetadataDirective="REPLACE")
        except FileNotFoundError:
            return False
        return True

    def remove(self, path: str) -> None:
        """As Storage.remove."""
        with self._explained(path) as client:
            client.delete_object(Bucket=self.place.bucket, Key=self._key(path))

    def on_disk(self, path: str) -> Path:
        """As Storage.on_disk: a copy, made once."""
        assert ".." not in PurePosixPath(path).parts
        copy = self._folder_of_copies() / path
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            draft = copy.with_name(f".{secrets.token_hex(8)}")
            self._download(path, draft)
            draft.replace(copy)
        return copy

    def _download(self, path: str, draft: Path) -> None:
        with self._explained(path) as client, _room_for_copies(draft.parent):
            for left in reversed(range(_TRIES)):
                try:
                    answer = client.get_object(Bucket=self.place.bucket, Key=self._key(path))
                    with contextlib.closing(answer["Body"]) as body, draft.open("wb") as file:
                        shutil.copyfileobj(body, file, 1 << 20)
                except Exception as error:
                    if left == 0 or not _was_cut(error):
                        raise
                else:
                    return

    def named(self, path: str) -> str:
        """As Storage.named."""
        return str(self.place / path)

    def _folder_of_copies(self) -> Path:
        import tempfile

        with self._lock:
            if self._copies is None:
                self._copies = Path(tempfile.mkdtemp(prefix="kreplica-copies-"))
                weakref.finalize(self, _remove_copies, self._copies, os.getpid())
        return self._copies

    def _key(self, path: str) -> str:
        return (self.place / path).prefix

    def _pages(self, prefix: str, **options: str) -> Iterator[Mapping[str, Any]]:
        with self._explained("") as client:
            pager = client.get_paginator("list_objects_v2")
            yield from pager.paginate(Bucket=self.place.bucket, Prefix=prefix, **options)

    @contextlib.contextmanager
    def _explained(self, path: str) -> Iterator[Client]:
        place = self.named(path)
        _require_botocore(place)
        with explained(place, ""):
            client = _client()
        with explained(place, client.meta.endpoint_url):
            yield client


@contextlib.contextmanager
def _room_for_copies(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        fix = "make room, or name another folder by TMPDIR"
        raise UsageError(
            f"no room in {folder} for a copy of a file in an object store", os_reason(error), fix
        ) from None


def _was_sent_again(response: Mapping[str, Any]) -> bool:
    """True if botocore had no answer to the request before, which may have been heeded all the same."""
    return bool(response.get("ResponseMetadata", {}).get("RetryAttempts", 0))


def _just_before(key: str) -> str:
    """A key behind which a listing begins with the one given."""
    return key[:-1] + chr(ord(key[-1]) - 1) + "~"


def _remove_copies(folder: Path, process: int) -> None:
    if os.getpid() == process:  # a forked one ends before the one that made them
        shutil.rmtree(folder, ignore_errors=True)


def _was_cut(error: Exception) -> bool:
    """True if an answer stopped in its midst; botocore tries again only before an answer has begun."""
    from botocore.exceptions import IncompleteReadError, ReadTimeoutError, ResponseStreamingError

    return isinstance(error, IncompleteReadError | ReadTimeoutError | ResponseStreamingError)


def _require_botocore(place: str) -> None:
    try:
        import botocore.session  # noqa: F401
    except ImportError:
        from kreplica.system.packages import line_that_adds

        raise MissingExtraError(f"{place} needs a client for S3", "", line_that_adds("s3")) from None


_CLIENTS: dict[tuple[object, ...], Client] = {}


def _client() -> Client:
    """The client of this process under these settings: connections are not shared with a process that was forked."""
    settings = sorted(item for item in os.environ.items() if item[0].startswith("AWS_"))
    key = (os.getpid(), *settings)
    if key not in _CLIENTS:
        _CLIENTS[key] = _new_client()
    return _CLIENTS[key]


def _new_client() -> Client:
    from botocore.config import Config
    from botocore.session import Session

    session = Session()
    credentials = session.get_credentials()  # known before the first request, so that no message has a secret
    if credentials is not None:
        from kreplica.system.redaction import remember_secret

        frozen = credentials.get_frozen_credentials()
        for secret in (frozen.secret_key, frozen.token):
            remember_secret(secret or "")
    return session.create_client(
        "s3",
        region_name=os.environ.get("AWS_REGION") or session.get_config_variable("region") or _REGION,
        config=Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": 3},
            max_pool_connections=16,
            # Contents have checksums of their own; many stores that speak S3 do not know those of AWS.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )
