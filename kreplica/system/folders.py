"""Folders for kreplica's own files: caches, which may be deleted, and state, which may not."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

CACHE_VARIABLE = "KREPLICA_CACHE"
SANDBOX_HOME_VARIABLE = "KREPLICA_SANDBOX_HOME"


def cache_folder() -> Path:
    """Return the folder of downloads and derived files; ``KREPLICA_CACHE`` names another one."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen).absolute() if chosen else Path(platformdirs.user_cache_dir("kreplica"))


def sandbox_home() -> Path:
    """Return the folder that holds one folder for each sandbox; ``KREPLICA_SANDBOX_HOME`` names another one."""
    chosen = os.environ.get(SANDBOX_HOME_VARIABLE)
    return Path(chosen).absolute() if chosen else Path(platformdirs.user_state_dir("kreplica")) / "sandbox"
