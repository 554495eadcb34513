"""The contexts file as rows, by functions that read no environment but the one they are given."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from kreplica.config.listing import config_init, config_list, config_show, config_use
from kreplica.errors import ConfigurationError, UsageError

TEXT = """\
[contexts.eu]
bootstrap_servers = "eu:9092"
read_only = true
[contexts.eu.properties]
"ssl.key.password" = "hush"
"ssl.truststore.password" = "${env:TRUST}"
[contexts.eu.commands]
password = ["pass", "show", "hush"]
[contexts.old]
zookeeper = "zk:2181/kafka"
timeout = 20
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "contexts.toml"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


def test_contexts_are_listed_as_written(file: str) -> None:
    rows = {row.context: row for row in config_list(file, environ={}).rows}
    assert list(rows) == ["eu", "old"]
    eu, old = rows["eu"], rows["old"]
    assert (eu.bootstrap_servers, eu.read_only, eu.production, eu.current) == ("eu:9092", True, False, False)
    assert (old.zookeeper, old.bootstrap_servers, old.read_only) == ("zk:2181/kafka", None, False)


def test_the_environment_given_names_the_file(file: str) -> None:
    assert str(config_list(environ={"KREPLICA_CONFIG": file}).file.path) == file
    shown = config_show(["old"], environ={"KREPLICA_CONFIG": file})
    assert (shown.rows[0].name, shown.rows[0].origin) == ("contexts_file", "KREPLICA_CONFIG")


def test_a_context_becomes_the_current_one(file: str) -> None:
    used = config_use("old", file, environ={})
    assert [row.context for row in used.rows if row.current] == ["old"]
    assert list(config_show(config_path=file, environ={}).names) == ["old"]
    with pytest.raises(ConfigurationError, match="no context"):
        config_use("e*", file, environ={})


def test_settings_are_shown_with_their_origin_and_without_secrets(file: str) -> None:
    rows = {row.name: (row.value, row.origin) for row in config_show(["eu"], file, timeout=3, environ={}).rows}
    assert rows["timeout"] == ("3", "--timeout")
    assert rows["production"] == ("false", "default")
    assert rows["properties.ssl.key.password"] == (
        "(hidden)",
        f"{file}: contexts.eu.properties.ssl.key.password",
    )
    assert rows["properties.ssl.truststore.password"][0] == "${env:TRUST}"
    assert rows["commands.password"][0] == "pass"


def test_who_names_no_context_needs_a_current_one(file: str) -> None:
    with pytest.raises(ConfigurationError, match="no context is named"):
        config_show(config_path=file, environ={})
    with pytest.raises(UsageError, match="timeout"):
        config_show(["eu"], file, timeout=-1, environ={})


def test_a_file_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new.toml"
    assert [row.path for row in config_init(str(path), environ={}).rows] == [str(path)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(ConfigurationError, match="exists already"):
        config_init(str(path), environ={})


def test_without_a_file_there_is_none_to_list_or_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    listed = config_list(environ={})
    assert (listed.rows, listed.file.path, listed.exit_code) == ([], None, 0)
    with pytest.raises(ConfigurationError, match="there is no contexts file"):
        config_use("eu", environ={})
