"""A history in an S3 store: the same bytes as in a folder, by two at once, and after a stop at any change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from histories.folders import StoppedError, candidate, contents
from histories.observations import observed
from loopback.object_store import ObjectStore, losing_first_answers, object_store

from kreplica.history.ingest import Candidate, ingest
from kreplica.system.stores import s3
from kreplica.system.stores.s3 import S3Place, S3Storage
from kreplica.system.stores.storage import LocalStorage

ORDERS, OTHERS = ("orders", 0), ("orders", 1)
SOME = [candidate(observed(hour, {ORDERS: {"leader": hour % 3}, OTHERS: {"leader": 2}})) for hour in range(6)]


class StoppingStorage(S3Storage):
    """Ends at the change with this number, before it or right after it was made."""

    def __init__(self, place: S3Place, fatal: int, *, after: bool) -> None:
        super().__init__(place)
        self.fatal, self.after, self.changes = fatal, after, 0

    def create(self, path: str, content: bytes) -> bool:
        return self._change(lambda: super(StoppingStorage, self).create(path, content))

    def renew(self, path: str) -> bool:
        return self._change(lambda: super(StoppingStorage, self).renew(path))

    def _change(self, make: Callable[[], Any]) -> Any:
        self.changes += 1
        if self.changes - 1 == self.fatal and not self.after:
            raise StoppedError
        result = make()
        if self.changes - 1 == self.fatal:
            raise StoppedError
        return result


@pytest.fixture(scope="module")
def started() -> Iterator[ObjectStore]:
    with object_store() as running:
        running.client().create_bucket(Bucket="fleet")
        yield running


@pytest.fixture
def place(started: ObjectStore, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> S3Place:
    for name, value in started.environment.items():
        monkeypatch.setenv(name, value)
    return S3Place("fleet", re.sub(r"\W", "-", request.node.name))


def counting(started: ObjectStore, place: S3Place, folder: Path) -> dict[str, bytes]:
    """What counts of the history, by the reader of folders."""
    started.download(place.bucket, place.prefix + "/", folder)
    return contents(folder)


def in_a_folder(folder: Path, some: list[Candidate]) -> dict[str, bytes]:
    ingest(some, LocalStorage(folder), compact=True)
    return contents(folder)


@pytest.mark.one_python
def test_the_bytes_are_those_of_a_folder(started: ObjectStore, place: S3Place, tmp_path: Path) -> None:
    for one in SOME[::-1]:
        ingest([one], S3Storage(place), compact=True)
    assert counting(started, place, tmp_path / "s3") == in_a_folder(tmp_path / "local", SOME)


def test_two_at_once_lose_and_double_nothing(started: ObjectStore, place: S3Place, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        some = [SOME[:3], SOME[2:5], SOME[5:]]
        found = list(pool.map(lambda part: ingest(part, S3Storage(place)), some))
    assert sum(one.total("added") for one in found) == len(SOME)
    assert sum(one.total("known") for one in found) == 1
    ingest(SOME[:1], S3Storage(place), compact=True)
    again = ingest(SOME, S3Storage(place), compact=True)
    assert (again.total("added"), again.total("known")) == (0, len(SOME))
    assert counting(started, place, tmp_path / "s3") == in_a_folder(tmp_path / "local", SOME)


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
def test_a_stop_at_any_change_leaves_what_was_there_or_what_was_to_be(
    started: ObjectStore, place: S3Place, tmp_path: Path, after: bool
) -> None:
    before, whole = in_a_folder(tmp_path / "before", SOME[:2]), in_a_folder(tmp_path / "whole", SOME)
    seen, fatal = set(), 0
    while True:
        here = place / str(fatal)
        ingest(SOME[:2], S3Storage(here), compact=True)
        storage = StoppingStorage(here, fatal, after=after)
        try:
            ingest(SOME, storage, compact=True)
        except StoppedError:
            left = counting(started, here, tmp_path / f"left-{fatal}")
            observed = next(content for name, content in left.items() if "observations" in name)
            seen.add(observed)
            assert observed in {content for some in (before, whole) for content in some.values()}
            ingest(SOME, S3Storage(here), compact=True)
            assert counting(started, here, tmp_path / f"again-{fatal}") == whole
            fatal += 1
        else:
            break
    assert fatal > 4
    assert len(seen) == 2


def test_of_the_same_snapshots_one_of_several_at_once_adds_each(place: S3Place) -> None:
    S3Storage(place).require_conditions()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda some: ingest(some, S3Storage(place)), [SOME] * 4))
    assert [one.total("added") + one.total("known") for one in found] == [len(SOME)] * 4
    assert sum(one.total("added") for one in found) == len(SOME)


def test_an_own_manifest_is_known_after_a_lost_answer(started: ObjectStore, place: S3Place, tmp_path: Path) -> None:
    """The store made it, the answer was lost, and the next try is refused because it is there."""
    with losing_first_answers(s3._client(), "manifests"):
        found = ingest(SOME, S3Storage(place))
    assert (found.total("added"), found.total("known")) == (len(SOME), 0)
    assert counting(started, place, tmp_path / "s3") == in_a_folder(tmp_path / "local", SOME)
