"""Names that hold control sequences, markup and line breaks: no command lets one reach a terminal, in no form.

What may come out is printable text, line breaks of ours and colours of ours.
"""

from __future__ import annotations

import ast
import io
import re
import shutil
import struct
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from log_files.record_batches import PlainRecord, batch_bytes

from commands.completions.tree import Command, command_tree
from commands.main import build_app, run
from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.model.tables.columns import StringColumn
from kreplica.model.tables.schema import TABLES
from kreplica.model.tables.table import Table
from kreplica.sources.dumps.dump import read_sample
from kreplica.store.writing import write_snapshot

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-4.3.1"
COMMANDS = Path(__file__).parents[3] / "commands"
EVIL = "\x1b[31mEVIL\x1b]0;title\x07\x9b2J\x90\r\n\tEVIL\x7f\u202eEVIL\u2066\u2028[/foo][bold]EVIL[/]:smile:\U000e0041"
"""C0 and C1 control sequences, a title, line ends, bidirectional overrides, an invisible tag, markup of rich."""
PROGRESS = r"\r|\x1b\[[012]?K|\x1b\[\?25[lh]|\x1b\[1A"
"""Control sequences that paint a line of progress on stderr again: commands/shared/printing/progress.py, and rich."""
OURS = re.compile(r"\x1b\[(?:0|1|2|[0-9]{1,2}(?:;[0-9]{1,3})*)m")
HOSTILE = frozenset({"topic", "rack", "host", "group", "path", "entity", "value", "metadata", "directory"})


class Terminal(io.TextIOWrapper):
    """A stream that passes for a terminal, or not, and remembers."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", errors="backslashreplace", write_through=True)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def fileno(self) -> int:
        raise io.UnsupportedOperation("fileno")

    def text(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs a command line as if on a terminal, or not; exit code, stdout, stderr."""
    monkeypatch.setenv("KREPLICA_CONFIG", str(tmp_path / "contexts.toml"))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def call(*words: str | Path, terminal: bool) -> tuple[int, str, str]:
        out, err = Terminal(terminal=terminal), Terminal(terminal=terminal)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = run([str(word) for word in words])
        return code, out.text(), err.text()

    (tmp_path / "contexts.toml").touch()
    return call


def assert_harmless(text: str, what: object, progress: str = "") -> None:
    left = OURS.sub("", re.sub(progress, "", text))
    bad = sorted({letter for letter in left if not letter.isprintable() and letter != "\n"})
    assert not bad, f"{what}: {bad} in {text[:2000]!r}"
    assert "\x1b[31mEVIL" not in text, f"{what}: a colour that is not ours"
    assert not re.search(r"^\s*EVIL", left, re.MULTILINE), f"{what}: a line break that is not ours in {text[:2000]!r}"


def hostile(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """The same cluster; all its names end in EVIL."""
    return replace(
        snapshot,
        name=f"name{EVIL}",
        cluster_id=f"id{EVIL}",
        gaps=(Gap("silent-brokers", f"broker 9 did not answer{EVIL}", 1),),
        notes=(f"note{EVIL}",),
        **{schema.name: _hostile(snapshot.table(schema)) for schema in TABLES},
    )


def _hostile(table: Table) -> Table:
    columns = {field.name: table[field.name] for field in table.schema.fields}
    for name, column in columns.items():
        if name in HOSTILE and isinstance(column, StringColumn):
            columns[name] = replace(column, dictionary=tuple(word + EVIL for word in column.dictionary))
    return Table(table.schema, columns)


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dumps") / "dumps\x1b[31mEVIL"
    write_snapshot(hostile(read_sample()), directory)
    return directory


WORDS: dict[tuple[str, ...], list[list[str]]] = {
    ("describe",): [
        [],
        ["--all"],
        ["--under-replicated"],
        ["--offline"],
        ["--masked"],
        ["--all", "--group-by", "topic"],
    ],
    ("check",): [[], ["--rule", "offline"]],
    ("recommend",): [[]],
    ("imbalance",): [[]],
    ("safe-to-stop",): [["1"], ["--rack", "r1" + EVIL]],
    ("wait",): [["--for", "in-sync", "--broker", "3", "--timeout", "1"]],
    ("whatif", "fail"): [["--broker", "1"], ["--rack", f"r1{EVIL}"]],
    ("assign",): [["new-topic" + EVIL, "--partitions", "2", "--replication-factor", "2"]],
    ("roll", "plan"): [[]],
    ("roll", "next"): [["no-such-plan" + EVIL]],
    ("disks",): [[]],
    ("rebalance", "leaders"): [[]],
    ("rebalance", "replicas"): [["--drain", "3"], ["--balance", "leaders"]],
    ("rebalance", "rehearse"): [[f"no-such-plan{EVIL}"]],
    ("rebalance", "verify"): [[f"no-such-plan{EVIL}"]],
    ("rebalance", "apply"): [[f"no-such-plan{EVIL}"]],
    ("rebalance", "status"): [[f"no-such-plan{EVIL}"]],
    ("rebalance", "resume"): [[f"no-such-plan{EVIL}"]],
    ("rebalance", "cancel"): [[f"no-such-plan{EVIL}"]],
    ("rebalance", "rollback"): [[f"no-such-plan{EVIL}"]],
    ("rebalance", "throttles"): [["--topic", f"t{EVIL}"]],
    ("compare",): [["sample"]],
    ("snapshot",): [["--out", "OUT"]],
    ("history",): [[]],  # a dump is no history; names in one are below
}
"""Arguments with which a command answers."""
FORMS = ("table", "markdown", "csv", "json", "jsonl")


TREE = command_tree(build_app())


def with_dump(command: Command) -> list[Command]:
    below = [found for each in command.commands for found in with_dump(each)]
    named = any("--dump" in option.flags for option in command.options)
    return [command, *below] if named and command.runs else below


READING = [each.path[-2:] if len(each.path) > 2 else each.path[-1:] for each in with_dump(TREE)]


@pytest.mark.parametrize("path", READING, ids=" ".join)
@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_names_of_a_cluster(path: tuple[str, ...], terminal: bool, shown: Run, dumps: Path, tmp_path: Path) -> None:
    assert path in WORDS, "say with which arguments it answers"
    for words in WORDS[path]:
        for form in FORMS if terminal else FORMS[:2]:
            filled = [str(tmp_path / f"out{EVIL}") if word == "OUT" else word for word in words]
            code, out, err = shown(*path, *filled, "--dump", dumps, "-o", form, terminal=terminal)
            assert code != 70, (path, words, err)
            assert out or err
            assert_harmless(out, (path, words, form))
            assert_harmless(err, (path, words, form), PROGRESS)


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_names_in_a_history(terminal: bool, shown: Run, dumps: Path, tmp_path: Path) -> None:
    history = tmp_path / f"history{EVIL.replace('/', '')}"
    assert shown("audit", "ingest", dumps, "--into", history, terminal=terminal)[0] == 0
    for words in (
        [],
        [f"orders{EVIL}"],
        [f"orders{EVIL}", "--partition", "2"],
        ["--broker", "3"],
        [f"nosuch{EVIL}"],
        ["--cluster", f"nosuch{EVIL}"],
        ["--group", f"nosuch{EVIL}"],
    ):
        for form in FORMS if terminal else FORMS[:2]:
            code, out, err = shown("history", *words, "--in", history, "-o", form, terminal=terminal)
            assert code == (2 if f"nosuch{EVIL}" in words else 0), (words, err)
            assert_harmless(out, (words, form))
            assert_harmless(err, (words, form))
    for form in FORMS if terminal else FORMS[:2]:
        for words in (["resilience"], ["slo"], ["slo", "--by", "cause"]):
            code, out, err = shown("audit", *words, history, "-o", form, terminal=terminal)
            assert code in (1, 5), err
            assert_harmless(out, (words, form))
            assert_harmless(err, (words, form))


def commit(group: str, topic: str, metadata: str) -> bytes:
    """A batch of one commit: GroupMetadataKey version 1, OffsetCommitValue version 3."""
    names = [struct.pack(">h", len(text.encode())) + text.encode() for text in (group, topic, metadata)]
    key = struct.pack(">h", 1) + names[0] + names[1] + struct.pack(">i", 0)
    value = struct.pack(">hqi", 3, 7, 1) + names[2] + struct.pack(">q", 1_700_000_000_000)
    return batch_bytes([PlainRecord(0, 0, key, value)])


@pytest.fixture(scope="module")
def log_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a broker left behind, in a folder with a hostile name, with a hostile group and cluster id."""
    folder = tmp_path_factory.mktemp("log") / f"data{EVIL.replace('/', '')}"
    shutil.copytree(GOLDEN / "clean" / "broker-1" / "data", folder)
    log = folder / "__consumer_offsets-0"
    shutil.rmtree(log, ignore_errors=True)
    log.mkdir()
    (log / f"{0:020}.log").write_bytes(commit(f"g{EVIL}", f"t{EVIL}", f"m{EVIL}") + b"\x00rubbish")
    evil = EVIL.replace("\n", "").replace("\r", "").encode()
    (folder / "meta.properties").write_bytes(b"version=1\ncluster.id=" + evil + b"\nnode.id=x" + evil + b"\n")
    return folder


DECODED = {
    ("offsets",): [[], ["--events"], ["--groups"]],
    ("segment",): [[f"__consumer_offsets-0/{0:020}.log"], [f"__consumer_offsets-0/{0:020}.log", "--records"]],
    ("transactions",): [[]],
    ("metadata",): [["__cluster_metadata-0"]],
    ("checkpoints",): [[]],
    ("indexes",): [[]],
    ("check",): [[]],
    ("compare",): [["", "."]],
}
LINES = ("kafka-1.0", "kafka-2", "kafka-4", "reset-csv")


def decoders() -> list[str]:
    (group,) = [each for each in TREE.commands if each.name == "decode"]
    return [each.name for each in group.commands]


@pytest.mark.parametrize("name", decoders())
def test_names_in_files_of_brokers(name: str, shown: Run, log_directory: Path) -> None:
    assert (name,) in DECODED, "say what it reads"
    for words in DECODED[(name,)]:
        filled = [word if word.startswith("--") else str(log_directory / word) for word in words or [""]]
        if filled[0].startswith("--"):
            filled.insert(0, str(log_directory))
        for form in (*FORMS, *(LINES if name == "offsets" and not words else ())):
            for terminal in (True, False) if form in FORMS[:2] else (True,):
                code, out, err = shown("decode", name, *filled, "-o", form, terminal=terminal)
                assert code != 70, (name, words, err)
                assert_harmless(out, (name, words, form))
                assert_harmless(err, (name, words, form))


def test_commits_in_the_forms_of_kafka_are_what_they_are_in_a_file(shown: Run, log_directory: Path) -> None:
    """Escapes are for terminals: a program that reads the lines is given the names themselves."""
    log = log_directory / "__consumer_offsets-0" / f"{0:020}.log"
    _, out, _ = shown("decode", "offsets", log, "-o", "kafka-1.0", terminal=False)
    assert f"[g{EVIL},t{EVIL},0]::" in out


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_names_of_contexts(terminal: bool, shown: Run, tmp_path: Path) -> None:
    contexts = tmp_path / "contexts.toml"
    name = "".join(f"\\U{ord(letter):08X}" for letter in f"prod{EVIL}")
    other = name.replace("\\U00000070", "\\U00000071", 1)
    servers = "bootstrap_servers = '127.0.0.1:1'\ntimeout = 1\n"
    contexts.write_text(f'[contexts."{name}"]\n{servers}[contexts."{other}"]\n{servers}')
    for words in (
        ["snapshot", "--context", "*", "--out", tmp_path / "out"],
        ["describe", "--context", "*"],
        ["describe", "--context", f"prod{EVIL}"],
        ["describe", "--context", f"nosuch{EVIL}"],
        ["config", "list"],
        ["config", "use", f"prod{EVIL}"],
        ["config", "show", f"prod{EVIL}"],
        ["config", "check", f"prod{EVIL}"],
        [f"nosuch{EVIL}"],
        ["describe", f"--nosuch{EVIL}"],
        ["describe", "--dump", f"nosuch{EVIL}"],
        ["whatif", "run", f"nosuch{EVIL}"],
        ["whatif", "prove", "--model", f"nosuch{EVIL}"],
        ["whatif", "prove", "--invariant", f"nosuch{EVIL}"],
        ["whatif", "prove", "--set", f"acks={EVIL}"],
        ["whatif", "validate", f"nosuch{EVIL}"],
    ):
        code, out, err = shown(*words, terminal=terminal)
        assert code not in (1, 70), (words, err)
        assert_harmless(out, words)
        assert_harmless(err, words, PROGRESS)


PRINTING = {"print", "Console"}


def test_nothing_else_prints() -> None:
    """Whatever is printed goes through commands/shared/printing/terminal.py, or is laid out of cells that did."""
    printing = {f"shared/printing/{name}.py" for name in ("terminal", "screen", "progress")}
    allowed = {*printing, "completions/completer.py", "completions/command.py"}
    found = []
    for path in sorted(COMMANDS.rglob("*.py")):
        if str(path.relative_to(COMMANDS)) in allowed:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            if called in PRINTING or called in ("sys.stdout.write", "sys.stderr.write"):
                found.append(f"{path.name}:{node.lineno}: {called}")
    assert not found, (
        "print by commands/shared/printing/terminal.py: print_out, print_err, stdout_console, stderr_console"
    )
