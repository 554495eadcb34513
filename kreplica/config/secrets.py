"""References to secrets in values of client properties and contexts, looked up when they are needed.

    ${env:NAME}            an environment variable                      Kafka's EnvVarConfigProvider
    ${file:PATH:KEY}       one key of a properties file                 Kafka's FileConfigProvider
    ${file:PATH}           the whole file, without its last line break
    ${directory:DIR:FILE}  the same by folder and name                  Kafka's DirectoryConfigProvider
    ${command:NAME}        what a command of the context prints         ``commands`` of the contexts file

The syntax is that of KIP-297 and KIP-421, and no ``config.providers`` is needed for it. A reference may be a whole
value or a part of one; text that names none of these providers stays as it is, as in Kafka. What was looked up is
remembered, so that no error and no defect report shows it (``without_secrets``).
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kreplica.errors import ConfigurationError, os_reason
from kreplica.system.redaction import forget_secrets, is_secret_name, remember_secret
from kreplica.system.untrusted_files import read_whole, wait_readable

COMMAND_SECONDS = 30.0
"""Seconds that a command may take: a password manager may ask its user first."""

LARGEST_SECRET = 1 << 20
_REFERENCE = re.compile(r"\$\{(env|file|directory|command):(?:([^}]*?):)?([^}]*)\}")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Sources of secrets for references.

    Args:
        environ: Environment variables.
        folder: Base of relative paths.
        commands: Programs with their arguments, by the name a reference gives.
    """

    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: Path = field(default_factory=Path)
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)


def look_up(text: str, what: str, around: Surroundings) -> str:
    """Replaces the references in a value.

    Args:
        text: The value as it was written.
        what: Name of the setting; if it is that of a secret, the value found is remembered as one.
        around: Sources to look in.

    Raises:
        ConfigurationError: A reference cannot be followed; names the setting and the reference, never a value.
    """

    def replaced(match: re.Match[str]) -> str:
        provider, path, key = match.groups()
        try:
            found = PROVIDERS[provider](path, key, around)
        except _LookupFailedError as error:
            raise ConfigurationError(f"cannot look up {match.group()} of {what}", error.reason, error.fix) from None
        if is_secret_name(what):
            remember_secret(found)
        return found

    return _REFERENCE.sub(replaced, text)


def references(text: str) -> tuple[str, ...]:
    """The references that a value holds, as written."""
    return tuple(match.group() for match in _REFERENCE.finditer(text))


def files_read(text: str, folder: Path) -> tuple[Path, ...]:
    """The files that the references of a value read."""
    found = []
    for provider, path, key in _REFERENCE.findall(text):
        if provider == "file":
            found.append(_path(folder, path or key))
        elif provider == "directory":
            found.append(_path(folder, path) / key)
    return tuple(found)


def forget() -> None:
    """Forgets what was remembered, and what commands printed: the next look asks again."""
    forget_secrets()
    _output.cache_clear()


class _LookupFailedError(Exception):
    def __init__(self, reason: str, fix: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix


def _from_environment(_path: str | None, key: str, around: Surroundings) -> str:
    if key not in around.environ:
        raise _LookupFailedError(f"the environment variable {key} is not set")
    return around.environ[key]


def _from_file(path: str | None, key: str, around: Surroundings) -> str:
    if path is None:
        return _content(_path(around.folder, key)).removesuffix("\n").removesuffix("\r")
    from kreplica.config.java_properties import parse_properties

    file = _path(around.folder, path)
    found = parse_properties(_content(file), str(file))
    if key not in found:
        raise _LookupFailedError(f"{file} has no key {key}")
    return found[key]


def _from_directory(path: str | None, key: str, around: Surroundings) -> str:
    if path is None or "/" in key:
        raise _LookupFailedError("expected ${directory:DIR:FILE}")
    return _content(_path(around.folder, path) / key).removesuffix("\n").removesuffix("\r")


def _from_command(path: str | None, key: str, around: Surroundings) -> str:
    if path is not None or not around.commands.get(key):
        named = ", ".join(around.commands) or "none"
        raise _LookupFailedError(
            f"the commands of this context are: {named}", f'write commands = {{ {key} = ["PROGRAM", "ARGUMENT"] }}'
        )
    return _output(around.commands[key])


PROVIDERS: Mapping[str, Callable[[str | None, str, Surroundings], str]] = {
    "env": _from_environment,
    "file": _from_file,
    "directory": _from_directory,
    "command": _from_command,
}


def _path(folder: Path, path: str) -> Path:
    return folder / Path(path).expanduser()


def _content(path: Path) -> str:
    try:
        return read_whole(path, LARGEST_SECRET).decode("utf-8", "replace")
    except OSError as error:
        raise _LookupFailedError(f"cannot read {path}: {os_reason(error)}") from None


@functools.cache  # --watch reads again and again; nobody wants to be asked again and again
def _output(command: tuple[str, ...]) -> str:
    """Runs a command without a shell; its stderr and its questions on the terminal stay the user's."""
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    except OSError as error:
        raise _LookupFailedError(f"{command[0]} cannot be run: {os_reason(error)}") from None
    try:
        printed = _printed(process, command[0])
    finally:
        _end(process)
    if process.returncode != 0:
        raise _LookupFailedError(f"{command[0]} ended with {process.returncode}")
    text = printed.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")
    if not text:
        raise _LookupFailedError(f"{command[0]} printed nothing")
    return text


def _printed(process: subprocess.Popen[bytes], name: str) -> bytes:
    """Reads a command's output until it ends; refuses one that takes too long or prints too much."""
    assert process.stdout is not None, "its output is a pipe"
    deadline = time.monotonic() + COMMAND_SECONDS
    printed, number = bytearray(), process.stdout.fileno()
    while wait_readable(number, max(0, deadline - time.monotonic())):
        piece = os.read(number, 1 << 16)
        if not piece:
            break
        printed += piece
        if len(printed) > LARGEST_SECRET:
            raise _LookupFailedError(f"{name} printed more than {LARGEST_SECRET} bytes")
    try:
        process.wait(max(0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise _LookupFailedError(f"{name} did not end within {COMMAND_SECONDS:g} s") from None
    return bytes(printed)


def _end(process: subprocess.Popen[bytes]) -> None:
    # A child that outlives the command may hold the pipe open: nothing more is read from it.
    if process.poll() is None:
        process.kill()
    if process.stdout is not None:
        process.stdout.close()
    process.wait()
