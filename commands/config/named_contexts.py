"""The contexts that a command of config is asked about."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kreplica.config.contexts import ContextsFile


def named_contexts(names: Sequence[str], config: str | None) -> tuple[ContextsFile, tuple[str, ...]]:
    """The contexts file and the chosen contexts: those named, or the current one.

    Raises:
        ConfigurationError: There is no file, no such context, or none is named and none is current.
    """
    from kreplica.errors import ConfigurationError

    file = read_contexts(config)
    if not names and file.path is not None and file.current is None:
        known = ", ".join(file.contexts) or "none"
        raise ConfigurationError("no context is named", f"{file.path} has no current one; its contexts are {known}")
    return file, file.matching(names or (str(file.current),))


def read_contexts(config: str | None) -> ContextsFile:
    """Reads the contexts file that is named, or the one at its usual place."""
    from kreplica.config.contexts import load_contexts

    return load_contexts(config, os.environ)
