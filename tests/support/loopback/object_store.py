"""An S3 store on loopback: moto's server in a process of its own, ended with the block that started it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from waiting import until

SECRET = "sEcReT/of+the+bucket=0123456789"
START_SECONDS = 60.0


@dataclass(frozen=True)
class ObjectStore:
    """A running store.

    Args:
        endpoint: Its address.
        process: Its process.
    """

    endpoint: str
    process: subprocess.Popen[bytes] = field(repr=False)

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which clients find it and are let in; no file of the user's is read."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "reader",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self) -> Any:
        """A client that is not kreplica's."""
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id="writer",
            aws_secret_access_key="another",
            region_name="us-east-1",
        )

    def upload(self, folder: Path, bucket: str, prefix: str) -> None:
        """Puts the files of a folder below a prefix."""
        client = self.client()
        for path in folder.rglob("*"):
            if path.is_file():
                client.put_object(Bucket=bucket, Key=f"{prefix}{path.relative_to(folder)}", Body=path.read_bytes())
        client.close()

    def download(self, bucket: str, prefix: str, folder: Path) -> None:
        """Puts the objects below a prefix into a folder."""
        for path, content in self.contents(bucket, prefix).items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)

    def contents(self, bucket: str, prefix: str = "") -> dict[str, bytes]:
        """The objects below a prefix, by the rest of their keys; those of hidden names are left out."""
        client = self.client()
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        keys = [one["Key"] for page in pages for one in page.get("Contents", ())]
        shown = [key for key in keys if not any(part.startswith(".") for part in key.split("/"))]
        found = {key[len(prefix) :]: client.get_object(Bucket=bucket, Key=key)["Body"].read() for key in shown}
        client.close()
        return found


@contextlib.contextmanager
def object_store(settings: Mapping[str, str] | None = None) -> Iterator[ObjectStore]:
    """Starts a store, and ends it.

    Args:
        settings: Environment of moto besides, as INITIAL_NO_AUTH_ACTION_COUNT.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [sys.executable, "-c", _SERVER, str(port)]
    around = {**os.environ, **(settings or {})}
    process = subprocess.Popen(line, env=around, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        endpoint = f"http://127.0.0.1:{port}"
        until(lambda: _answers(endpoint, process), "the store to answer", START_SECONDS)
        yield ObjectStore(endpoint, process)
    finally:
        process.kill()
        process.wait(10)


def _answers(endpoint: str, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "the store ended"
    try:
        with urlopen(f"{endpoint}/moto-api/", timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


# Ends with the process that started it, too, where that is killed.
_SERVER = """
import ctypes, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
from moto.server import main
main(["-H", "127.0.0.1", "-p", sys.argv[1]])
"""


@contextlib.contextmanager
def losing_first_answers(client: Any, *parts: str) -> Iterator[None]:
    """Has a client ask a second time for files whose path has one of these parts: their first answers get lost."""

    def is_lost(attempts: int, request_dict: Mapping[str, Any], **_: object) -> float | None:
        return 0.0 if attempts == 1 and any(part in request_dict["url"] for part in parts) else None

    client.meta.events.register_first("needs-retry.s3.PutObject", is_lost)
    try:
        yield
    finally:
        client.meta.events.unregister("needs-retry.s3.PutObject", is_lost)
