"""The reader that follows a load reads on behind its end until it has what the log should hold, in bounds."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kreplica.sandbox.load import reader as load_reader
from kreplica.sandbox.load.ledger import Reading
from kreplica.sandbox.load.reader import FollowingReader


class SlowReader:
    """Reads one record at a time, long after it was written; there are ``count`` of them."""

    def __init__(self, count: int) -> None:
        self.reading = Reading()
        self.left = list(range(count))
        self.closed = False

    def read(self) -> int:
        time.sleep(0.01)
        if self.left:
            self.reading.enter(0, self.left.pop(0))
        return 1

    def close(self) -> None:
        self.closed = True


def followed(reader: Any, awaited: int) -> Reading:
    follower = FollowingReader(reader)
    follower.start()
    return follower.stop(awaited)


def test_it_reads_on_until_it_has_what_was_acknowledged() -> None:
    reader = SlowReader(20)
    assert followed(reader, 20).count() == 20
    assert reader.closed


def test_it_gives_up_on_what_the_log_has_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_reader, "CATCH_UP_SECONDS", 0.3)
    reader = SlowReader(3)
    assert followed(reader, 20).count() == 3
    assert reader.closed
