"""kreplica config: the contexts file made, listed, switched and explained; no secret is ever printed."""

from __future__ import annotations

import contextlib
import stat
import sys
import time
from pathlib import Path
from typing import Any

import pytest

CONTEXTS = """\
# mine

# what follows is production
[contexts.prod-eu]   # careful
bootstrap_servers = "eu:9093"
command_config = "prod.properties"
timeout = 20
read_only = true

[contexts.prod-eu.properties]
"ssl.key.password" = "hush-toml"
"ssl.truststore.password" = "${env:TRUST}"

[contexts.staging]
bootstrap_servers = "staging:9092"
"""


@pytest.fixture
def contexts(tmp_path: Path) -> Path:
    file = tmp_path / "contexts.toml"
    file.write_text(CONTEXTS)
    properties = tmp_path / "prod.properties"
    properties.write_text(
        'security.protocol=SASL_SSL\n\nsasl.jaas.config=X required username="u" password="hush-jaas";\n'
    )
    for path in (file, properties):
        path.chmod(0o600)
    return file


def test_init_writes_a_file_that_works_for_its_owner_alone(kreplica: Any, tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    ended = kreplica("config", "init", "--config", path)
    assert (ended.code, ended.err) == (0, "")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert kreplica("config", "list", "--config", path, "-o", "json").document["contexts"] == []
    before = path.read_bytes()
    again = kreplica("config", "init", "--config", path)
    assert (again.code, path.read_bytes()) == (2, before)
    assert "exists already" in again.err


def test_every_key_of_the_commented_file_is_known(kreplica: Any, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    kreplica("config", "init", "--config", path)
    lines = path.read_text().splitlines()
    keys = [line[2:] for line in lines if line.startswith("# ") and (" = " in line or line.startswith("# ["))]
    path.write_text("\n".join(keys))
    (tmp_path / "prod-eu.properties").write_text("")
    rows = kreplica("config", "show", "*", "--config", path, "-o", "json").document["settings"]
    assert {row["context"] for row in rows} == {"staging", "old", "prod-eu"}
    assert {"timeout", "zookeeper", "production", "properties.sasl.jaas.config", "commands.password"} <= {
        row["name"] for row in rows
    }


def test_list_marks_the_current_one(kreplica: Any, contexts: Path) -> None:
    contexts.write_text('current = "staging"\n' + CONTEXTS)
    document = kreplica("config", "list", "--config", contexts, "-o", "json").document
    assert document["schema"] == "kreplica/config-list/v1"
    assert [(row["context"], row["current"], row["read_only"]) for row in document["contexts"]] == [
        ("prod-eu", False, True),
        ("staging", True, False),
    ]
    assert "*  staging" in kreplica("config", "list", "--config", contexts).out


def test_no_file_is_no_error_for_list(kreplica: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KREPLICA_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    ended = kreplica("config", "list")
    assert ended.code == 0
    assert "there is no contexts file" in ended.out
    assert "kreplica config init" in ended.out
    assert kreplica("config", "show").code == 2


def test_init_writes_over_nothing(kreplica: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, written = tmp_path / "own", tmp_path / "own" / "mine.toml"
    folder.mkdir()
    written.write_text("# mine\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    for taken in (".", "..", folder, "mine.toml"):
        ended = kreplica("config", "init", "--config", taken)
        assert ended.code == 2
        assert "exists already" in ended.err
    assert written.read_text(encoding="utf-8") == "# mine\n"
    assert list(folder.iterdir()) == [written]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_use_changes_one_line_and_nothing_else(kreplica: Any, contexts: Path, ending: str) -> None:
    contexts.write_bytes(CONTEXTS.replace("\n", ending).encode())
    contexts.chmod(0o640)
    assert kreplica("config", "use", "staging", "--config", contexts).code == 0
    first = contexts.read_bytes().decode()
    assert first == CONTEXTS.replace("# mine\n", '# mine\ncurrent = "staging"\n').replace("\n", ending)
    assert kreplica("config", "use", "prod-eu", "--config", contexts).code == 0
    assert contexts.read_bytes().decode() == first.replace('"staging"\r', '"prod-eu"\r').replace(
        'current = "staging"', 'current = "prod-eu"'
    )
    assert stat.S_IMODE(contexts.stat().st_mode) == 0o640
    assert not list(contexts.parent.glob("contexts.toml?*"))


def test_use_follows_a_link_and_keeps_it(kreplica: Any, contexts: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(contexts)
    assert kreplica("config", "use", "staging", "--config", link).code == 0
    assert link.is_symlink()
    assert 'current = "staging"' in contexts.read_text()


def test_use_refuses_what_is_not_there(kreplica: Any, contexts: Path) -> None:
    for name in ("nope", "prod-*"):
        ended = kreplica("config", "use", name, "--config", contexts)
        assert ended.code == 2
        assert contexts.read_text() == CONTEXTS


def test_show_says_what_holds_and_where_it_comes_from(kreplica: Any, contexts: Path) -> None:
    document = kreplica("config", "show", "prod-eu", "--config", contexts, "--timeout", "3", "-o", "json").document
    rows = {row["name"]: (row["value"], row["origin"]) for row in document["settings"]}
    properties = contexts.parent / "prod.properties"
    assert rows == {
        "contexts_file": (str(contexts), "--config"),
        "bootstrap_servers": ("eu:9093", f"{contexts}: contexts.prod-eu.bootstrap_servers"),
        "timeout": ("3", "--timeout"),
        "read_only": ("true", f"{contexts}: contexts.prod-eu.read_only"),
        "production": ("false", "default"),
        "properties.security.protocol": ("SASL_SSL", f"{properties}, line 1"),
        "properties.sasl.jaas.config": ('X required username="u" password=(hidden)', f"{properties}, line 3"),
        "properties.ssl.key.password": ("(hidden)", f"{contexts}: contexts.prod-eu.properties.ssl.key.password"),
        "properties.ssl.truststore.password": (
            "${env:TRUST}",
            f"{contexts}: contexts.prod-eu.properties.ssl.truststore.password",
        ),
    }
    assert "ORIGIN" in kreplica("config", "show", "prod-eu", "--config", contexts, "--origin").out
    assert "ORIGIN" not in kreplica("config", "show", "prod-eu", "--config", contexts).out


def test_show_without_a_name_means_the_current_one(kreplica: Any, contexts: Path) -> None:
    ended = kreplica("config", "show", "--config", contexts)
    assert ended.code == 2
    assert "has no current one; its contexts are prod-eu, staging" in ended.err
    contexts.write_text('current = "staging"\n' + CONTEXTS)
    rows = kreplica("config", "show", "--config", contexts, "-o", "json").document["settings"]
    assert {row["context"] for row in rows} == {"staging"}


def test_no_output_holds_a_secret(kreplica: Any, contexts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUST", "hush-env")
    contexts.write_text(CONTEXTS.replace("eu:9093", "127.0.0.1:1"))
    everything = ""
    for words in (["config", "show", "*", "--origin"], ["config", "list"], ["describe", "--context", "prod-eu"]):
        for form in ("table", "json", "csv", "markdown", "jsonl"):
            ended = kreplica(*words, "--config", contexts, "-o", form)
            everything += ended.out + ended.err
    assert "hush" not in everything
    assert "prod-eu" in everything


def test_no_list_of_processes_shows_a_secret(contexts: Path, process: Any, tmp_path: Path) -> None:
    (tmp_path / "pw").write_text("hush-hush")
    slow = "import pathlib, sys, time; time.sleep(1.5); print(pathlib.Path(sys.argv[1]).read_text())"
    contexts.write_text(
        '[contexts.a]\nbootstrap_servers = "127.0.0.1:1"\ntimeout = 1\n[contexts.a.properties]\n'
        '"security.protocol" = "SASL_PLAINTEXT"\n"sasl.mechanism" = "PLAIN"\n"sasl.jaas.config" = '
        '\'X required username="u" password="${command:pw}${file:pw}";\'\n'
        f"[contexts.a.commands]\npw = [{sys.executable!r}, '-c', '{slow}', {str(tmp_path / 'pw')!r}]\n"
    )
    running, seen = process("describe", "--context", "a", "--config", contexts), b""
    while running.poll() is None:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                seen += path.read_bytes()
        time.sleep(0.1)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 3, err
    assert b"--context" in seen
    assert b"hush-hush" not in seen + out + err


def test_a_defect_report_holds_no_secret(kreplica: Any, contexts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUST", "hush-env")

    def broken(handle: Any, wanted: Any) -> Any:
        raise RuntimeError(f"a library quotes {dict(handle.properties)}")

    monkeypatch.setattr("kreplica.monitoring.clusters.read_snapshot", broken)
    ended = kreplica("check", "--context", "prod-eu", "--config", contexts, "-o", "json")
    assert ended.code == 70
    report = Path(ended.err.split("with ")[1].split(",")[0])
    text = report.read_text() + ended.err + ended.out
    report.unlink()
    assert "a library quotes" in text
    assert "hush" not in text


def statuses(ended: Any) -> dict[str, str]:
    return {row["check"]: row["status"] for row in ended.document["checks"]}


def test_check_stops_at_what_cannot_be_used(kreplica: Any, contexts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRUST", raising=False)
    ended = kreplica("config", "check", "prod-eu", "--config", contexts, "-o", "json")
    assert ended.code == 2
    assert statuses(ended) == {"settings": "ok", "secrets": "failed"}
    assert "${env:TRUST}" in ended.out
    monkeypatch.setenv("TRUST", "hush-env")
    contexts.write_text(CONTEXTS.replace('"ssl.key.password"', '"ssl.truststore.location"'))
    ended = kreplica("config", "check", "prod-eu", "--config", contexts, "-o", "json")
    assert (ended.code, statuses(ended)["security"]) == (2, "failed")
    screen = kreplica("config", "check", "prod-eu", "--config", contexts).out
    assert screen.startswith("UNUSABLE prod-eu: cannot read ssl.truststore.location")
    assert "hush-env" not in ended.out + screen


@pytest.mark.parametrize(
    ("connection_options", "prefix"),
    [
        ('bootstrap_servers = "127.0.0.1:1"\n[contexts.a.properties]\n"security.protocol" = "SSL"', ""),
        ('zookeeper = "127.0.0.1:1"\n[contexts.a.properties]\n"zookeeper.ssl.client.enable" = true', "zookeeper."),
    ],
    ids=["brokers", "ZooKeeper"],
)
def test_check_tells_that_host_names_are_not_checked(
    kreplica: Any, contexts: Path, connection_options: str, prefix: str
) -> None:
    def checked(algorithm: str) -> Any:
        key = f"{prefix}ssl.endpoint.identification.algorithm"
        contexts.write_text(f'[contexts.a]\n{connection_options}\n"{key}" = "{algorithm}"\n')
        return kreplica("config", "check", "a", "--config", contexts, "--timeout", "1", "-o", "json")

    warnings = [row["message"] for row in checked("").document["checks"] if row["status"] == "warning"]
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{prefix}ssl.endpoint.identification.algorithm is empty: host names of")
    refused = checked("htps")
    assert (refused.code, statuses(refused)["security"]) == (2, "failed")
    assert "warning" not in statuses(checked("https")).values()


def test_check_tells_what_cannot_be_reached_and_each_context_on_its_own(kreplica: Any, contexts: Path) -> None:
    contexts.write_text('[contexts.a]\nbootstrap_servers = "127.0.0.1:1"\n[contexts.b]\nzookeeper = "127.0.0.1:1"\n')
    ended = kreplica("config", "check", "*", "--config", contexts, "--timeout", "2", "-o", "json")
    assert ended.code == 3
    found = {(row["context"], row["check"]): row["status"] for row in ended.document["checks"]}
    assert found["a", "connection"] == found["b", "connection"] == "unreachable"
    assert found["a", "settings"] == found["b", "settings"] == "ok"
    assert ended.document["summary"]["unreachable"] == 2


def test_a_file_that_everybody_can_read_is_a_warning(kreplica: Any, contexts: Path) -> None:
    contexts.write_text(CONTEXTS.replace("${env:TRUST}", "hush"))
    contexts.chmod(0o644)
    ended = kreplica("config", "check", "prod-eu", "--config", contexts, "--timeout", "1", "-o", "json")
    (row,) = [row for row in ended.document["checks"] if row["status"] == "warning"]
    assert row["message"] == f"{contexts} holds a secret and everybody here can read it"
    assert row["fix"] == f"chmod 600 {contexts}"
