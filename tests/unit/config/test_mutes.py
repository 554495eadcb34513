"""The mutes file: where it is, what stands in it, and what is refused."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.config.mutes import Mute, mutes_in_force, mutes_path, read_mutes, write_mutes
from kreplica.errors import ConfigurationError, UsageError

UNTIL, MADE = datetime(2099, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=UTC)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


def test_it_is_beside_the_contexts_file(tmp_path: Path) -> None:
    assert mutes_path({"KREPLICA_CONFIG": str(tmp_path / "contexts.toml")}) == tmp_path / "mutes.toml"
    assert mutes_path({}).name == "mutes.toml"
    assert mutes_path({}).parent.name == "kreplica"


@examples(1)
@given(rule=TEXT, cluster=st.none() | TEXT, topic=st.none() | TEXT)
def test_what_is_written_is_toml_and_read_again(
    tmp_path_factory: pytest.TempPathFactory, rule: str, cluster: str | None, topic: str | None
) -> None:
    path = tmp_path_factory.mktemp("mutes") / "deep" / "mutes.toml"
    mutes = (Mute(rule, UNTIL, MADE, cluster, topic), Mute("offline", UNTIL, MADE))
    write_mutes(path, mutes)
    assert read_mutes(path) == mutes
    table = tomllib.loads(path.read_text(encoding="utf-8"))["mutes"][0]
    given_ = {"rule": rule, "cluster": cluster, "topic": topic, "until": UNTIL, "muted_at": MADE}
    assert table == {key: value for key, value in given_.items() if value is not None}


def test_no_file_is_no_mute(tmp_path: Path) -> None:
    assert read_mutes(tmp_path / "mutes.toml") == ()
    (tmp_path / "file").touch()
    assert read_mutes(tmp_path / "file" / "mutes.toml") == ()


def test_a_mute_that_is_over_is_not_in_force(tmp_path: Path) -> None:
    over = Mute("offline", datetime(2026, 3, 2, tzinfo=UTC), MADE)
    holds = Mute("rf-one", UNTIL, MADE)
    write_mutes(tmp_path / "mutes.toml", [over, holds])
    assert mutes_in_force({"KREPLICA_CONFIG": str(tmp_path / "c.toml")}) == (holds,)


WHOLE = 'rule = "offline"\nuntil = 2099-01-01T00:00:00Z\nmuted_at = 2026-03-01T12:00:00+02:00\n'


def test_what_a_person_writes_is_read(tmp_path: Path) -> None:
    (tmp_path / "mutes.toml").write_bytes(f"# why\n[[mutes]]\n{WHOLE}".replace("\n", "\r\n").encode())
    assert read_mutes(tmp_path / "mutes.toml") == (Mute("offline", UNTIL, datetime(2026, 3, 1, 10, tzinfo=UTC)),)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff", "can't decode byte"),
        (b"[[mutes", "mutes.toml; "),
        (b"a" + b".a" * 50000 + b" = 1", "nested too deeply"),
        (b"mutes = 3", "mutes is no list of tables"),
        (b"mutes = [3]", "mute 1 is no table"),
        (b"[[mute]]", "unknown key mute; did you mean mutes?"),
        (f"[[mutes]]\n{WHOLE}topics = 'x'".encode(), "mute 1: unknown key topics; did you mean topic?"),
        (f"[[mutes]]\n{WHOLE}[[mutes]]\nrule = 'x'".encode(), "mute 2: object missing required field `until`"),
        (f"[[mutes]]\n{WHOLE}topic = ''".encode(), "mute 1: expected `str` of length >= 1"),
        (f"[[mutes]]\n{WHOLE.replace('00Z', '00')}".encode(), "mute 1: "),
        (f"[[mutes]]\n{WHOLE.replace('2099-01-01T00:00:00Z', '9999-12-31T23:59:59-05:00')}".encode(), "out of range"),
        (f"[[mutes]]\n{WHOLE.replace('2099-01-01T00:00:00Z', '3')}".encode(), "mute 1: expected `datetime`"),
    ],
)
def test_what_is_no_such_file_is_refused_with_its_place(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "mutes.toml").write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        read_mutes(tmp_path / "mutes.toml")
    assert said in str(caught.value)
    assert "mutes.toml" in str(caught.value)


def test_what_cannot_be_written_is_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    write_mutes(tmp_path / "mutes.toml", [Mute("offline", UNTIL, MADE)])
    with pytest.raises(UsageError, match="no UTF-8"):
        write_mutes(tmp_path / "mutes.toml", [Mute("offline", UNTIL, MADE, topic="\udcff")])
    assert read_mutes(tmp_path / "mutes.toml") == (Mute("offline", UNTIL, MADE),)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="cannot write"):
        write_mutes(tmp_path / "file" / "mutes.toml", [])
