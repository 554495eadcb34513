"""References to secrets are followed as Kafka's config providers follow them, in bounds, and nothing of it is shown."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from kreplica.config import secrets
from kreplica.config.secrets import Surroundings, files_read, look_up, references
from kreplica.errors import ConfigurationError
from kreplica.system.redaction import remember_secret, without_secrets


@pytest.fixture
def around(tmp_path: Path) -> Surroundings:
    (tmp_path / "secret").write_text("from-file\n")
    (tmp_path / "store.properties").write_text("password = from\\u002dkey\nempty=\n")
    commands = {
        "pw": (sys.executable, "-c", "print('from-command')"),
        "bad": (sys.executable, "-c", "raise SystemExit(3)"),
    }
    commands |= {"slow": (sys.executable, "-c", "import time; time.sleep(60)"), "mute": (sys.executable, "-c", "")}
    commands |= {"endless": (sys.executable, "-c", "while True: print('x' * 65536)")}
    commands |= {"none": ("/no/such/program",), "empty": ()}
    return Surroundings({"PW": "from-env", "EMPTY": ""}, tmp_path, commands)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("plain", "plain"),
        ("${env:PW}", "from-env"),
        ("${env:EMPTY}", ""),
        ('X required password="${env:PW}" user="${file:secret}";', 'X required password="from-env" user="from-file";'),
        ("${file:secret}", "from-file"),
        ("${file:store.properties:password}", "from-key"),
        ("${directory:.:secret}", "from-file"),
        ("${command:pw}", "from-command"),
        ("${vault:a:b}${}$ {env:PW}$", "${vault:a:b}${}$ {env:PW}$"),
    ],
)
def test_references_are_followed(text: str, found: str, around: Surroundings) -> None:
    assert look_up(text, "x.password", around) == found


def test_absolute_paths_do_not_start_from_the_folder(around: Surroundings, tmp_path: Path) -> None:
    elsewhere = Surroundings({}, Path("/no/such"))
    assert look_up(f"${{file:{tmp_path}/secret}}", "x", elsewhere) == "from-file"
    assert files_read("${file:a:k} ${file:/b} ${directory:c:d} ${env:E}", tmp_path) == (
        tmp_path / "a",
        Path("/b"),
        tmp_path / "c" / "d",
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("${env:NOPE}", "cannot look up ${env:NOPE} of x.password; the environment variable NOPE is not set"),
        ("${file:nope}", "no such file"),
        ("${file:store.properties:nope}", "store.properties has no key nope"),
        ("${directory:secret}", "expected ${directory:DIR:FILE}"),
        ("${command:nope}", "the commands of this context are: pw, bad, slow, mute, endless, none, empty"),
        ("${command:empty}", "the commands of this context are"),
        ("${command:bad}", "ended with 3"),
        ("${command:mute}", "printed nothing"),
        ("${command:endless}", "printed more than 1048576 bytes"),
        ("${command:none}", "/no/such/program cannot be run; no such file".replace(";", ":")),
    ],
)
def test_what_cannot_be_followed_is_told_without_values(text: str, told: str, around: Surroundings) -> None:
    with pytest.raises(ConfigurationError) as caught:
        look_up("${env:PW}" + text, "x.password", around)
    assert told in str(caught.value)
    assert "from-env" not in str(caught.value)


def test_a_command_that_hangs_is_ended(around: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "COMMAND_SECONDS", 0.5)
    begun = time.monotonic()
    with pytest.raises(ConfigurationError, match=r"did not end within 0\.5 s"):
        look_up("${command:slow}", "x", around)
    assert time.monotonic() - begun < 20


def test_a_command_of_a_program_with_many_open_files(around: Surroundings) -> None:
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert look_up("${command:pw}", "x", around) == "from-command"
    finally:
        for file in files:
            os.close(file)


def test_a_command_runs_once_for_many_readings(tmp_path: Path) -> None:
    count = f"import pathlib; p = pathlib.Path({str(tmp_path / 'runs')!r}); p.open('a').write('x'); print('hush')"
    around = Surroundings({}, tmp_path, {"pw": (sys.executable, "-c", count)})
    assert {look_up("${command:pw}", "x", around) for _ in range(3)} == {"hush"}
    assert (tmp_path / "runs").read_text() == "x"


def test_no_shell_sees_a_command(tmp_path: Path) -> None:
    words = (sys.executable, "-c", "import sys; print(sys.argv[1])", "$HOME;ls|cat")
    assert look_up("${command:pw}", "x", Surroundings({}, tmp_path, {"pw": words})) == "$HOME;ls|cat"


def test_a_secret_that_was_looked_up_is_hidden_and_other_values_are_not(around: Surroundings) -> None:
    look_up("${file:secret}", "client property ssl.key.password", around)
    look_up("${env:PW}", "bootstrap_servers", around)
    assert without_secrets("a from-file b from-env") == "a (hidden) b from-env"
    remember_secret("abc")
    assert without_secrets("abc") == "abc"


def test_references_are_named_as_written() -> None:
    assert references("a ${env:X} ${file:a:b} ${vault:c}") == ("${env:X}", "${file:a:b}")
