"""Rules for every command and every option of the tree, whichever there are."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from answers.command_lines import ANSWERED, LIVE, prepare, words

from commands.completions.tree import Command, command_tree
from commands.main import build_app
from kreplica.errors import UsageError
from kreplica.sandbox import Listener, Mode, SandboxSettings

TESTS = Path(__file__).parents[2]
TREE = [command for command in command_tree(build_app()).walk() if command.runs]


def path_of(command: Command) -> str:
    return " ".join(command.path[1:])


def flags(command: Command) -> set[str]:
    return {flag for option in command.options for flag in option.flags}


def documented(root: Path) -> dict[str, tuple[str, list[str]]]:
    """Name of the rows and their fields, by schema, as the reference has them."""
    found = {}
    for page in sorted((root / "docs" / "reference").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(r"gives `(\S+)` with the rows under `(\w+)`", text):
            section = text[match.end() :].split("\n## ", maxsplit=1)[0]
            found[match[1]] = match[2], re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
        for match in re.finditer(r"^`(\S+)`: the same fields as those of `kreplica ([\w -]+)`", text, re.MULTILINE):
            found[match[1]] = found[f"kreplica/{match[2].replace(' ', '-')}/v1"]
    return found


def test_every_command_with_forms_is_held_to_them_here_or_on_real_brokers(root: Path) -> None:
    differing = {*ANSWERED, *LIVE} ^ {path_of(command) for command in TREE if "--output" in flags(command)}
    assert not differing, f"give a line in ANSWERED or LIVE of tests/support/answers/command_lines.py: {differing}"
    assert not ANSWERED.keys() & LIVE.keys()
    for command, file in LIVE.items():
        text = (root / file).read_text(encoding="utf-8")
        assert all(re.search(rf"\b{re.escape(word)}\b", text) for word in command.split()), (command, file)


@pytest.mark.parametrize("command", ANSWERED)
def test_every_answer_has_the_documented_fields_in_every_form(
    kreplica: Any, root: Path, tmp_path: Path, command: str
) -> None:
    prepare(tmp_path)
    line = words(command, tmp_path)
    ended = kreplica(*line, "-o", "json")
    assert ended.code in (0, 1, 5), ended.err
    schema = ended.document["schema"]
    rows_name, fields = documented(root)[schema]
    rows = ended.document[rows_name]
    assert rows, "an answer without rows shows no fields"
    assert {tuple(row) for row in rows} == {tuple(fields)}
    if command in ("config init", "audit unmute"):
        return  # what is written once, or ended once, is refused then
    names = next(csv.reader(io.StringIO(kreplica(*line, "-o", "csv").out)))
    assert names == fields
    lines = kreplica(*line, "-o", "jsonl").out.splitlines()
    assert [list(json.loads(each)) for each in lines] == [fields] * len(rows)
    assert kreplica(*line, "-o", "markdown").out.startswith("| " + " | ".join(fields) + " |\n")


def test_the_answer_of_every_command_is_documented(root: Path) -> None:
    by_command = {f"kreplica/{command.replace(' ', '-')}/v1" for command in (*ANSWERED, *LIVE)}
    differing = documented(root).keys() ^ by_command
    assert not differing, f"name the row in ANSWERS of docs/generator/answer_fields.py, then make docs: {differing}"


@pytest.mark.parametrize("command", TREE, ids=path_of)
def test_the_help_names_no_type_of_python_and_no_bound_of_32_bits(kreplica: Any, command: Command) -> None:
    text = kreplica(*command.path[1:], "--help").out
    assert not re.search(r"<(?:list|str|int|float|path|\w+\|)", text)
    assert not re.search(r"[^-\d]\d+<=x<=2147483647", text)


def used(flag: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text) is not None


def test_every_option_of_every_command_is_used_by_a_test() -> None:
    """In a file that names the command, too: an option that no test gives may do anything."""
    tests = [path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("test_*.py"))]
    unused = []
    for command in TREE:
        of = "\n".join(text for text in tests if used(command.name, text))
        # --zookeeper is given to each command that has it: test_an_ensemble_that_does_not_answer_is_unreachable
        options = [option.flags for option in command.options if "--zookeeper" not in option.flags]
        unused += [f"{path_of(command)} {each[0]}" for each in options if not any(used(flag, of) for flag in each)]
    assert not unused, f"give these in a test of their command: {unused}"


ZOOKEEPER_WORDS = {
    "safe-to-stop": ["1"],
    "wait": ["--for", "in-sync", "--broker", "1"],
    "snapshot": ["--out", "{folder}/dumps"],
    "whatif fail": ["--broker", "1"],
    "assign": ["new-topic", "--partitions", "1", "--replication-factor", "1"],
    "roll next": ["{folder}/plan.json"],
    "rebalance replicas": ["--rack-aware"],
    "rebalance verify": ["{folder}/moves.json"],
    "rebalance rehearse": ["{folder}/moves.json"],
    "rebalance apply": ["{folder}/leaders.json"],
    "rebalance status": ["{folder}/leaders.json"],
    "rebalance resume": ["{folder}/leaders.json"],
    "rebalance rollback": ["{folder}/leaders.json"],
}
"""Words that commands need beside the way in."""
ASKS_NOBODY = {"rebalance cancel"}
"""Commands that ask a cluster for plans of replicas only, which ZooKeeper alone carries out none of."""
ZOOKEEPER = [path_of(one) for one in TREE if "--zookeeper" in flags(one) and path_of(one) not in ASKS_NOBODY]


@pytest.mark.parametrize("command", ZOOKEEPER)
def test_an_ensemble_that_does_not_answer_is_unreachable(kreplica: Any, tmp_path: Path, command: str) -> None:
    drained = "rebalance replicas --drain 3 --topic two-copies"
    for group, name in (("roll plan", "plan.json"), ("rebalance leaders", "leaders.json"), (drained, "moves.json")):
        assert kreplica(*group.split(), "--dump", "sample-healthy", "--out", str(tmp_path / name)).code in (0, 1)
    line = [*command.split(), *(word.replace("{folder}", str(tmp_path)) for word in ZOOKEEPER_WORDS.get(command, []))]
    ended = kreplica(*line, "--zookeeper", "127.0.0.1:1", "--timeout", "0.5", "-o", "json")
    assert (ended.code, ended.document["error"]["kind"]) == (3, "unreachable"), ended.err
    assert "127.0.0.1:1" in ended.err
    assert list((tmp_path / "dumps").rglob("*.parquet")) == []


def test_the_words_are_those_of_commands_that_read_zookeeper() -> None:
    assert len(ZOOKEEPER) >= 17
    assert ZOOKEEPER_WORDS.keys() < set(ZOOKEEPER)


@pytest.mark.parametrize(
    "command", [["describe"], ["check"], ["safe-to-stop", "1"], ["wait", "--for", "in-sync", "--broker", "1"]]
)
def test_a_dump_that_is_too_old_passes_no_gate(kreplica: Any, command: list[str]) -> None:
    ended = kreplica(*command, "--dump", "sample-healthy", "--max-age", "1m")
    assert ended.code in (1, 5), ended
    assert "old, at most 1 min are taken (--max-age)\n" in ended.err
    assert "at most 1 min" not in kreplica(*command, "--dump", "sample-healthy", "--max-age", "366d").err


@pytest.mark.parametrize("words", [["--until", "2000-01-01"], ["--since", "2999-01-01"], ["--cluster", "nope"]])
def test_an_audit_of_no_snapshot_is_refused_before_spark_starts(kreplica: Any, words: list[str]) -> None:
    ended = kreplica("audit", "sample", *words)
    assert ended.code == 2
    assert "snapshots is wanted; --cluster, --since and --until leave none" in ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rule", "no-snapshot", "--rule", "vanished-topic"], "no-snapshot, vanished-topic: rules over time judge a"),
        (["--expect-every", "soon"], "--expect-every soon is no length of time"),
        (["--expect-every", "0s"], "--expect-every 0s is too short"),
        (["--as-of", "later"], "--as-of later"),
        (["--baseline", "no-such-file"], "cannot read no-such-file; no such file"),
        (["--baseline", "x", "--counts"], "--baseline does not go with --counts"),
        (["--baseline", "x", "--per-snapshot"], "--baseline does not go with --per-snapshot"),
        (["--baseline", "x", "--out", "y"], "--baseline does not go with --out"),
    ],
)
def test_what_cannot_be_judged_or_compared_is_refused_before_spark_starts(
    kreplica: Any, words: list[str], said: str
) -> None:
    ended = kreplica("audit", "sample", *words)
    assert ended.code == 2
    assert said in ended.err


def test_the_words_of_sandbox_start_are_its_settings(kreplica: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a cluster makes of the settings is tested on real ones; here that each word reaches its setting."""
    taken = []

    def start(settings: SandboxSettings, **_: object) -> None:
        taken.append(settings)
        raise UsageError("nothing is started here")

    monkeypatch.setattr("kreplica.sandbox.start", start)
    line = "--name n --mode zookeeper --brokers 4 --racks a,b --log-dirs 2 --listener tls --user u=p --authorizer"
    more = "--ibp 2.8 --set k=v --heap 300"
    assert kreplica("sandbox", "start", *line.split(), *more.split()).code == 2
    assert kreplica("sandbox", "start", "--controllers", "3").code == 2
    assert kreplica("sandbox", "start", "--kafka-version", "2.8.2", "--set", "2:k=w").code == 2
    (given, separate, old) = taken
    assert (old.release, old.mode, old.settings_by_broker) == ("2.8.2", Mode.ZOOKEEPER, {2: {"k": "w"}})
    assert (given.name, given.mode, given.brokers, given.racks) == ("n", Mode.ZOOKEEPER, 4, ("a", "b"))
    assert (given.log_dirs, given.listeners, given.users["u"]) == (2, (Listener.TLS,), "p")
    assert (given.authorizer, given.ibp, given.broker_settings, given.heap_mib) == (True, "2.8", {"k": "v"}, 300)
    assert (separate.controllers, separate.authorizer, separate.log_dirs, separate.heap_mib) == (3, False, 1, 256)
