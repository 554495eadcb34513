"""Values with secrets in a form that may be shown, and files with secrets that everybody can read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.config.properties import is_known_property
from kreplica.config.secrets import files_read, references
from kreplica.config.security import parse_jaas
from kreplica.errors import ConfigurationError
from kreplica.system.redaction import HIDDEN, is_secret_name, without_url_secrets

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterSettings, Setting

_JAAS = "sasl.jaas.config"
_KEY_STORE = "ssl.keystore.location"


def shown(key: str, text: str) -> str:
    """Returns the part of a client property, as written, that may be shown.

    A reference is shown, because it is no secret itself; of sasl.jaas.config all but the secret options; and of a
    property that is not known here nothing, because it may be a secret.
    """
    if is_reference(text):
        return text
    if key == _JAAS:
        return _shown_jaas(text)
    if is_secret_name(key) or not is_known_property(key):
        return HIDDEN
    return without_url_secrets(text)


def is_reference(text: str) -> bool:
    """True if a value is nothing but a reference."""
    return references(text) == (text,)


def holds_secret(key: str, text: str) -> bool:
    """True if the value itself contains a secret, rather than a reference to one."""
    if not is_secret_name(key) or is_reference(text) or not text:
        return False
    if key != _JAAS:
        return True
    try:
        options = parse_jaas(text).options
    except ConfigurationError:  # told when it is used
        return True
    return any(is_secret_name(name) and value and not is_reference(value) for name, value in options.items())


def exposure_warnings(settings: ClusterSettings) -> tuple[str, ...]:
    """One clause for each file that holds a secret and that every user of this machine can read."""
    open_files = dict.fromkeys(path for path in _secret_files(settings) if is_world_readable(path))
    return tuple(f"{path} holds a secret and everybody here can read it: chmod 600 {path}" for path in open_files)


def is_world_readable(path: Path) -> bool:
    """True if the file exists and is readable by users other than its owner and group."""
    if os.name == "nt":  # access lists instead of modes
        return False
    try:
        return bool(path.stat().st_mode & stat.S_IROTH)
    except OSError:
        return False


def require_private(path: Path) -> None:
    """Refuses a file that names programs to run and that somebody else may write, as ssh refuses its own.

    Both the file and each folder above it are checked: a user who may write to a folder can replace the file. In a
    sticky folder such as /tmp users cannot replace the files of others.

    Raises:
        ConfigurationError: Somebody else may write it.
    """
    if os.name == "nt":  # access lists instead of modes
        return
    file = path.resolve()
    for place in (file, *file.parents):
        found = place.stat()
        fix = f"chmod go-w {place}"
        others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if others and not (place != file and found.st_mode & stat.S_ISVTX):
            why = f"others may write {place}"
        elif place == file and found.st_uid not in (0, os.geteuid()):
            why, fix = "it belongs to somebody else", f"take a copy of your own of {place}"
        else:
            continue
        raise ConfigurationError(f"the commands of {path} are not run", why, fix)


def _secret_files(settings: ClusterSettings) -> Iterator[Path]:
    for key, setting in settings.properties.items():
        if setting.file is not None and holds_secret(key, setting.text):
            yield setting.file
        if is_secret_name(key):
            yield from files_read(setting.text, setting.folder)
        if key.endswith(_KEY_STORE):
            yield _store(setting)


def _store(setting: Setting) -> Path:
    return setting.folder / Path(setting.text).expanduser()


def _shown_jaas(text: str) -> str:
    try:
        module = parse_jaas(text)
    except ConfigurationError:
        return HIDDEN
    name = module.class_name.rpartition(".")[2]
    options = [
        f'{key}="{value}"' if not is_secret_name(key) or is_reference(value) else f"{key}={HIDDEN}"
        for key, value in module.options.items()
    ]
    return " ".join([name, "required", *options])
