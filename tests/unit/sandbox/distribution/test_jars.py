"""The cache of jars: every file is the locked one, or it is fetched, or nothing is used."""

from __future__ import annotations

import hashlib
import multiprocessing
from pathlib import Path

import pytest
from releases.kafka_classes import jar_sums

from kreplica.errors import SandboxError
from kreplica.sandbox.distribution import jars
from kreplica.sandbox.distribution.jars import Jar, class_path, locked_jars, repository
from kreplica.sandbox.distribution.releases import RELEASES, Mode, Release

CONTENTS = {f"demo{number}": f"content {number}".encode() for number in range(5)}


def demo_jars() -> tuple[Jar, ...]:
    return tuple(
        Jar("org.example.demo", name, "1.0", hashlib.sha256(content).hexdigest()) for name, content in CONTENTS.items()
    )


class Fetcher:
    """Stands in for the network: writes the jars asked for and remembers them."""

    def __init__(self, spoil: str = "", omit: str = "") -> None:
        self.asked: list[list[str]] = []
        self.spoil, self.omit = spoil, omit

    def __call__(self, wanted: tuple[Jar, ...], target: Path) -> str:
        self.asked.append([jar.artifact for jar in wanted])
        for jar in wanted:
            if jar.artifact != self.omit:
                (target / jar.path).parent.mkdir(parents=True, exist_ok=True)
                (target / jar.path).write_bytes(b"spoilt" if jar.artifact == self.spoil else CONTENTS[jar.artifact])
        return "test"


@pytest.fixture(autouse=True)
def _demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KREPLICA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(jars, "locked_jars", lambda _version: demo_jars())


def test_everything_is_fetched_once_and_then_found(tmp_path: Path) -> None:
    fetch = Fetcher()
    found = class_path("1", fetch)
    assert [path.read_bytes() for path in found] == list(CONTENTS.values())
    assert class_path("1", fetch) == found
    assert fetch.asked == [list(CONTENTS)]
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["jars", "jars.lock"]


def test_a_damaged_and_a_missing_jar_are_fetched_again_and_only_they() -> None:
    fetch = Fetcher()
    found = class_path("1", fetch)
    found[1].write_bytes(found[1].read_bytes()[:-1])
    found[3].unlink()
    assert [path.read_bytes() for path in class_path("1", fetch)] == list(CONTENTS.values())
    assert fetch.asked[1:] == [["demo1", "demo3"]]


@pytest.mark.parametrize(
    ("fetch", "reason"),
    [(Fetcher(spoil="demo2"), "demo2:1.0 differs from the locked SHA-256"), (Fetcher(omit="demo4"), "did not arrive")],
)
def test_what_is_not_the_locked_file_is_refused_and_not_kept(tmp_path: Path, fetch: Fetcher, reason: str) -> None:
    with pytest.raises(SandboxError) as caught:
        class_path("1", fetch)
    assert reason in caught.value.why
    assert not list(repository().rglob("*.jar"))
    assert not list((tmp_path / "cache").glob("fetch-*"))


def fetch_slowly(wanted: tuple[Jar, ...], target: Path) -> str:
    import time

    time.sleep(0.3)
    (target.parent / "fetches").open("a").write("x")
    return Fetcher()(wanted, target)


def resolve(answers: multiprocessing.Queue[bool]) -> None:
    jars.locked_jars = lambda _version: demo_jars()
    found = class_path("1", fetch_slowly)
    answers.put([path.read_bytes() for path in found] == list(CONTENTS.values()))


def test_processes_that_resolve_at_the_same_time_fetch_once_and_all_succeed(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    answers: multiprocessing.Queue[bool] = context.Queue()
    workers = [context.Process(target=resolve, args=(answers,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=30)
    assert [answers.get(timeout=5) for _ in workers] == [True] * 4
    assert (tmp_path / "cache" / "fetches").read_text() == "x"


@pytest.mark.parametrize("release", RELEASES.values(), ids=list(RELEASES))
def test_the_lock_lists_name_each_jar_once_with_a_sha256(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    locked = locked_jars(release.name)
    assert len({(jar.group, jar.artifact) for jar in locked}) == len(locked)
    assert {len(bytes.fromhex(jar.sha256)) for jar in locked} == {32}
    assert ("zookeeper" in {jar.artifact for jar in locked}) == (Mode.ZOOKEEPER in release.modes)
    assert "log4j" not in {jar.artifact for jar in locked}, "log4j 1 has known holes"
    assert {jar.version for jar in locked if jar.group == "org.apache.kafka"} == {release.name}


def test_the_lock_lists_have_the_jars_whose_classes_were_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    # tests/golden/kafka-classes fetches by itself
    monkeypatch.undo()
    asked = [(sums, locked_jars(release)) for release, sums in jar_sums().items() if release in RELEASES]
    both = [(sums[jar.path.name], jar.sha256) for sums, locked in asked for jar in locked if jar.path.name in sums]
    assert len(both) > 40
    assert [ours for _, ours in both] == [theirs for theirs, _ in both]


def test_an_unknown_kafka_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with pytest.raises(SandboxError, match=r"no Kafka 9\.9\.9"):
        locked_jars("9.9.9")


def test_where_a_jar_stands_in_mavens_layout() -> None:
    assert str(demo_jars()[0].path) == "org/example/demo/demo0/1.0/demo0-1.0.jar"
