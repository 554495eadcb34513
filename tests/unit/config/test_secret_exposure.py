"""Properties that may be shown, and files with secrets that everybody can read."""

from __future__ import annotations

from pathlib import Path

import pytest

from kreplica.config.contexts import load_contexts
from kreplica.config.exposure import holds_secret, shown
from kreplica.config.resolve import effective_settings, resolve
from kreplica.errors import ConfigurationError

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("security.protocol", "SASL_SSL", "SASL_SSL"),
        ("ssl.key.password", "hush", "(hidden)"),
        ("ssl.key.password", "${env:PW}", "${env:PW}"),
        ("ssl.key.password", "${env:PW}hush", "(hidden)"),
        ("ssl.keystore.key", "-----BEGIN PRIVATE KEY-----", "(hidden)"),
        ("ssl.keystore.location", "/a/b.p12", "/a/b.p12"),
        (
            "sasl.jaas.config",
            f'{SCRAM} required username="u" password="hush";',
            'ScramLoginModule required username="u" password=(hidden)',
        ),
        (
            "sasl.jaas.config",
            f'{SCRAM} required username="u" password="${{file:f}}";',
            'ScramLoginModule required username="u" password="${file:f}"',
        ),
        (
            "sasl.jaas.config",
            f'{SCRAM} required clientId="c" clientSecret="hush";',
            'ScramLoginModule required clientId="c" clientSecret=(hidden)',
        ),
        ("sasl.jaas.config", 'broken "hush', "(hidden)"),
        ("sasl.oauthbearer.token.endpoint.url", "https://u:hush@idp/token", "https://(hidden)@idp/token"),
        ("basic.auth.user.info", "u:hush", "(hidden)"),
    ],
)
def test_no_secret_is_shown(key: str, text: str, expected: str) -> None:
    assert shown(key, text) == expected
    assert "hush" not in shown(key, text)


@pytest.mark.parametrize(
    ("key", "text", "held"),
    [
        ("ssl.key.password", "hush", True),
        ("ssl.key.password", "${env:PW}", False),
        ("ssl.key.password", "", False),
        ("ssl.keystore.location", "x", False),
        ("sasl.jaas.config", f'{SCRAM} required username="u" password="${{env:P}}";', False),
        ("sasl.jaas.config", f'{SCRAM} required username="u" password="p${{env:P}}";', True),
        ("sasl.jaas.config", "broken", True),
    ],
)
def test_a_reference_is_no_secret(key: str, text: str, held: bool) -> None:
    assert holds_secret(key, text) is held


def test_files_with_secrets_that_everybody_can_read_are_warned_about(tmp_path: Path) -> None:
    (tmp_path / "pw").write_text("hush")
    (tmp_path / "store.p12").write_bytes(b"")
    (tmp_path / "a.properties").write_text("ssl.key.password=hush\n")
    config = tmp_path / "config.toml"
    config.write_text(
        "[contexts.a]\nbootstrap_servers = 'a:1'\ncommand_config = 'a.properties'\n[contexts.a.properties]\n"
        "'security.protocol' = 'SSL'\n"
        "'ssl.keystore.location' = 'store.p12'\n'ssl.keystore.password' = '${file:pw}'\n"
        "'ssl.truststore.password' = 'hush'\n"
    )
    files = [tmp_path / name for name in ("a.properties", "store.p12", "pw", "config.toml")]

    def warned() -> list[str]:
        handle = resolve(effective_settings(load_contexts(str(config), {}), "a"), {})
        assert handle.properties["ssl.keystore.password"] == "hush"
        return [warning.split(" holds a secret")[0] for warning in handle.warnings]

    for file in files:
        file.chmod(0o644)
    assert sorted(warned()) == sorted(map(str, files))
    for file in files:
        file.chmod(0o640)
        assert str(file) not in warned()
    assert warned() == []


def with_commands(folder: Path) -> Path:
    config = folder / "config.toml"
    config.write_text("[contexts.a]\nbootstrap_servers = 'a:1'\n[contexts.a.commands]\npassword = ['true']\n")
    config.chmod(0o600)
    return config


def refusal(config: Path) -> str:
    try:
        resolve(effective_settings(load_contexts(str(config), {}), "a"), {})
    except ConfigurationError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("mode", "refused"), [(0o600, False), (0o644, False), (0o664, True), (0o646, True)])
def test_commands_of_a_file_that_others_may_write_are_not_run(mode: int, refused: bool, tmp_path: Path) -> None:
    """As ssh judges its own files (readconf.c, auth.c safe_path): neither group nor others may write."""
    config = with_commands(tmp_path)
    config.chmod(mode)
    told = f"the commands of {config} are not run; others may write {config}; chmod go-w {config}"
    assert refusal(config) == (told if refused else "")


@pytest.mark.parametrize(("mode", "refused"), [(0o755, False), (0o777, True), (0o775, True), (0o1777, False)])
def test_so_is_a_folder_above_it(mode: int, refused: bool, tmp_path: Path) -> None:
    above = tmp_path / "above"
    (above / "own").mkdir(parents=True)
    above.chmod(mode)
    assert refusal(with_commands(above / "own")).endswith(f"chmod go-w {above}") is refused


def test_a_file_without_commands_may_be_everybodys(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[contexts.a]\nbootstrap_servers = 'a:1'\n")
    config.chmod(0o666)
    assert refusal(config) == ""
