"""Answers of Kafka's own classes, release by release, kept in tests/golden/kafka-classes.

``make golden FILE=leader-epochs.txt`` writes a file anew: Maven fetches each release, its jars are compared with
``jars.tsv``, the Java program is compiled against them and prints random cases with what Kafka makes of them. Lines on
which releases agree stand once, behind all their names. ``programs.toml`` says which program prints which file.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
ANSWERS = ROOT / "tests" / "golden" / "kafka-classes"
BUILD = ROOT / "build" / "kafka-classes"
COPY_JARS = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>a</groupId><artifactId>a</artifactId><version>1</version><packaging>pom</packaging>
<dependencies><dependency>
<groupId>org.apache.kafka</groupId><artifactId>kafka_{scala}</artifactId><version>{release}</version>
<exclusions><exclusion><groupId>javax.jms</groupId><artifactId>jms</artifactId></exclusion>
<exclusion><groupId>com.sun.jdmk</groupId><artifactId>jmxtools</artifactId></exclusion>
<exclusion><groupId>com.sun.jmx</groupId><artifactId>jmxri</artifactId></exclusion></exclusions>
</dependency><dependency>
<groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>{clients}</version>
</dependency><dependency>
<groupId>org.mockito</groupId><artifactId>mockito-core</artifactId><version>4.11.0</version>
</dependency></dependencies></project>"""
SCALA = (((0, 8, 1, 1), "2.10"), ((0, 10, 0, 1), "2.11"), ((2, 3, 1), "2.12"))
"""The last release that is asked with a version of Scala; later ones have 2.13."""


@dataclass(frozen=True, slots=True)
class Program:
    """What prints a file.

    Args:
        file: In tests/golden/kafka-classes.
        source: The Java program beside it; Java finds the others that it uses.
        arguments: Given to it.
        releases: Releases of Kafka that are asked.
        options: Of the java command.
        only: Word that the kept lines begin with; empty keeps all.
        beside: Other sources in its package that it uses: Java does not find these by itself.
    """

    file: str
    source: str
    arguments: tuple[str, ...]
    releases: tuple[str, ...]
    options: tuple[str, ...] = ()
    only: str = ""
    beside: tuple[str, ...] = ()

    def command(self, jars: str, classes: str) -> list[str]:
        """What runs it, once it is compiled into ``classes``."""
        return [
            "java",
            "-XX:TieredStopAtLevel=1",
            *self.options,
            "-cp",
            f"{classes}:{jars}/*",
            self.main(),
            *self.arguments,
        ]

    def main(self) -> str:
        """Its class, with the package where it is in one: some of Kafka's classes show themselves to that alone."""
        first = (ANSWERS / f"{self.source}.java").read_text().partition("\n")[0]
        package = first.removeprefix("package ").removesuffix(";")
        return f"{package}.{self.source}" if first.startswith("package ") else self.source


def programs() -> list[Program]:
    """What programs.toml lists; a file may be printed by several."""
    listed = tomllib.loads((ANSWERS / "programs.toml").read_text())["program"]
    return [
        Program(
            one["file"],
            one["source"],
            tuple(one["arguments"]),
            tuple(one["releases"]),
            tuple(one.get("options", ())),
            one.get("only", ""),
            tuple(one.get("beside", ())),
        )
        for one in listed
    ]


def answers(file: str) -> list[tuple[str, list[str]]]:
    """The lines of a file, for each release that printed them."""
    lines: dict[str, list[str]] = {}
    for line in (ANSWERS / file).read_text().splitlines():
        releases, _, told = line.partition(" | ")
        for release in releases.split():
            lines.setdefault(release, []).append(told)
    return list(lines.items())


def jar_sums() -> dict[str, dict[str, str]]:
    """SHA-256 of Kafka's jars by release and name."""
    sums: dict[str, dict[str, str]] = {}
    for line in (ANSWERS / "jars.tsv").read_text().splitlines():
        release, name, sha256 = line.split("\t")
        sums.setdefault(release, {})[name] = sha256
    return sums


def fetched(release: str) -> Path:
    """The folder with the jars of a release, which are what jars.tsv says."""
    folder = BUILD / release / "lib"
    if not folder.is_dir():
        number = tuple(map(int, release.split(".")))
        scala = next((scala for last, scala in SCALA if number <= last), "2.13")
        clients = (
            release if number >= (0, 8, 2) else "0.8.2.2"
        )  # programs name its classes, the broker has none of them
        folder.parent.mkdir(parents=True, exist_ok=True)
        (folder.parent / "pom.xml").write_text(POM.format(scala=scala, release=release, clients=clients))
        maven = ["mvn", "-B", "-q", "-f", str(folder.parent / "pom.xml"), COPY_JARS, f"-DoutputDirectory={folder}"]
        subprocess.run(maven, check=True, timeout=900)
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in sorted(folder.glob("kafka*.jar"))}
    if found != jar_sums()[release]:
        raise SystemExit(f"error: the jars in {folder} are not those of jars.tsv: {found}")
    return folder


def printed(program: Program, release: str) -> str:
    """What the program prints with the jars of a release."""
    jars, classes = fetched(release), BUILD / release / "classes" / program.source
    shutil.rmtree(classes, ignore_errors=True)
    compiler = [
        "javac",
        "-J-XX:TieredStopAtLevel=1",
        "-nowarn",
        "-Xlint:none",
        "-cp",
        f"{jars}/*",
        "-sourcepath",
        str(ANSWERS),
        "-d",
        str(classes),
    ]
    sources = [str(ANSWERS / f"{name}.java") for name in (program.source, *program.beside)]
    compiled = subprocess.run([*compiler, *sources], check=False, timeout=300, stderr=subprocess.PIPE, text=True)
    if compiled.returncode:
        raise SystemExit(f"{release}: {compiled.stderr}")
    command = program.command(str(jars), str(classes))
    answer = subprocess.run(command, check=False, timeout=300, capture_output=True, text=True)
    if answer.returncode:
        raise SystemExit(f"{release}: {answer.stderr}")
    return "".join(line for line in answer.stdout.splitlines(keepends=True) if line.startswith(program.only))


def golden(file: str) -> str:
    """The file as the programs print it now."""
    text = ""
    for program in programs():
        if program.file != file:
            continue
        answers: dict[str, list[str]] = {}
        for release in program.releases:
            answers.setdefault(printed(program, release), []).append(release)
        for answer, releases in answers.items():
            text += "".join(f"{' '.join(releases)} | {line}\n" for line in answer.splitlines())
    return text


if __name__ == "__main__":
    for named in sys.argv[1:] or sorted({program.file for program in programs()}):
        (ANSWERS / named).write_text(golden(named))
        print(f"{named}: {len((ANSWERS / named).read_text().splitlines())} lines")
