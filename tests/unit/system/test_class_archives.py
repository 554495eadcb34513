"""Archives of classes: each belongs to one Java and one list of jars, and is only asked for where there is one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kreplica.system.class_archives import archive_of, archive_options, keep_archive, remove_archive
from kreplica.system.folders import CACHE_VARIABLE


@pytest.fixture
def java(tmp_path: Path) -> Path:
    return written(tmp_path / "java", b"program")


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, ...]:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tuple(written(tmp_path / name, name.encode()) for name in ("a.jar", "b.jar"))


def kept(java: Path, jars: tuple[Path, ...], content: bytes = b"archive") -> Path:
    """An archive in its place."""
    return keep_archive(written(jars[0].parent / "draft", content), java, jars)


def written(path: Path, content: bytes) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(content)
    return path


def test_an_archive_is_asked_for_where_there_is_one(java: Path, jars: tuple[Path, ...]) -> None:
    assert archive_options(java, jars) == []
    archive = kept(java, jars)
    assert archive_options(java, jars) == [f"-XX:SharedArchiveFile={archive}"]


def test_another_java_another_order_and_a_jar_that_changed_have_none(
    java: Path, jars: tuple[Path, ...], tmp_path: Path
) -> None:
    kept(java, jars)
    assert archive_options(written(tmp_path / "other-java", b"program"), jars) == []
    assert archive_options(java, jars[::-1]) == []
    assert archive_options(java, jars[:1]) == []
    content, status = jars[1].read_bytes(), jars[1].stat()
    written(jars[1], content + b"!")
    os.utime(jars[1], ns=(status.st_atime_ns, status.st_mtime_ns))
    assert archive_options(java, jars) == []
    written(jars[1], content)
    os.utime(jars[1], ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000_000))
    assert archive_options(java, jars) == []
    os.utime(jars[1], ns=(status.st_atime_ns, status.st_mtime_ns))
    assert len(archive_options(java, jars)) == 1


@pytest.mark.parametrize("content", [b"", b"archiv", b"Archive", b"archive and more"])
def test_one_that_is_not_what_was_kept_is_not_asked_for(java: Path, jars: tuple[Path, ...], content: bytes) -> None:
    archive = kept(java, jars)
    written(archive, content)
    assert archive_options(java, jars) == []
    kept(java, jars, content)
    assert len(archive_options(java, jars)) == 1
    archive.with_suffix(".sha256").unlink()
    assert archive_options(java, jars) == []


def test_a_link_to_java_is_the_java_that_it_leads_to(java: Path, jars: tuple[Path, ...], tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(java)
    assert archive_of(link, jars) == archive_of(java, jars)


def test_what_is_not_there_has_none(java: Path, jars: tuple[Path, ...], tmp_path: Path) -> None:
    assert archive_options(tmp_path / "no-java", jars) == []
    assert archive_options(java, [*jars, tmp_path / "no.jar"]) == []


def test_a_path_with_a_colon_would_be_two_archives(
    java: Path, jars: tuple[Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "a:b"))
    kept(java, jars)
    assert archive_options(java, jars) == []


def test_the_next_takes_the_place_of_one_that_is_outdated(java: Path, jars: tuple[Path, ...]) -> None:
    archive = kept(java, jars)
    written(jars[0], b"another")
    assert archive_options(java, jars) == []
    assert kept(java, jars, b"another archive") == archive
    assert (archive.read_bytes(), len(archive_options(java, jars))) == (b"another archive", 1)


def test_archives_whose_jars_changed_or_are_gone_are_taken_away(
    java: Path, jars: tuple[Path, ...], tmp_path: Path
) -> None:
    others = [written(tmp_path / "other" / f"{number}.jar", b"jar") for number in range(3)]
    archives = [kept(java, (*jars, other)) for other in others]
    without_note = written(archives[0].with_name("old.jsa"), b"archive")
    written(others[0], b"changed")
    others[1].unlink()
    mine = kept(java, jars)
    assert sorted(path.name for path in mine.parent.iterdir()) == sorted(
        path.name for archive in (archives[2], mine) for path in (archive, archive.with_suffix(".sha256"))
    )
    assert not without_note.exists()


def test_one_that_is_taken_away_is_asked_for_no_more(java: Path, jars: tuple[Path, ...]) -> None:
    archive = kept(java, jars, b"archive")
    assert (remove_archive(archive), archive_options(java, jars), [*archive.parent.iterdir()]) == (7, [], [])
    assert remove_archive(archive) == 0
