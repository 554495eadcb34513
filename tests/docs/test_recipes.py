"""Each step of the recipes of CONTRIBUTING that no other test notices: who leaves it out is told which one it is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from commands.describe import causes as cause_words
from commands.describe import command as describe
from commands.main import COMMANDS, GROUPS, run
from kreplica import scenarios
from kreplica.advice import broker_rules, client_rules, topic_rules
from kreplica.execution import drift, plan
from kreplica.formats import registry
from kreplica.formats.checks import identity, indexes, offsets, producers
from kreplica.formats.checks.rules import DIRECTORY_RULES, REPLICA_RULES, RULES
from kreplica.health import rules
from kreplica.health.causes import lag_rules
from kreplica.health.causes.cause import CauseKind
from kreplica.health.causes.state_rules import STATE_RULES
from kreplica.health.listing import PARTITION_FIELDS
from kreplica.model.predicates import partitions
from kreplica.sources.dumps import text_formats

PATH = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|md|json|toml|txt)|(?:\.?[\w-]+/)+[\w-]*)`")
NAMED = re.compile(r"((?:`\w+`(?:, | or | and )?)+) of `([\w/.-]+\.py)`")
MADE_UP = re.compile(r"NAME|FOLDER|/v\d$")
BASES = (
    "",
    "kreplica",
    "tests",
    "commands",
    "kreplica/health",
    "kreplica/formats",
    "kreplica/sources",
    "kreplica/engine",
)


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "CONTRIBUTING.md").read_text(encoding="utf-8")


def declared(module: ModuleType, kind: type | tuple[type, ...]) -> Iterator[tuple[str, object]]:
    """What a module declares of a kind, by name."""
    for name, value in vars(module).items():
        if isinstance(value, kind):
            yield name, value


@pytest.mark.parametrize(
    ("recipe", "module", "kind", "registered"),
    [
        (
            "PREDICATES of kreplica/model/predicates/partitions.py",
            partitions,
            partitions.Predicate,
            partitions.PREDICATES,
        ),
        ("its tuple in kreplica/health/rules.py", rules, (rules.PartitionRule, rules.GroupRule), rules.ALL_RULES),
        ("OWN_FORMATS of kreplica/formats/registry.py", registry, registry.FileFormat, registry.OWN_FORMATS),
    ],
)
def test_what_is_declared_is_registered(
    recipe: str, module: ModuleType, kind: type | tuple[type, ...], registered: Collection[object]
) -> None:
    left_out = [name for name, value in declared(module, kind) if value not in registered]
    assert not left_out, f"put into {recipe}: {left_out}"


def test_each_filter_of_describe_is_a_labelled_predicate_and_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(describe, "_answer_once", lambda _, question, __: (asked.append(question), (0, True))[1])
    labelled = {one.name for one in partitions.PREDICATES if one.label}
    unlabelled = describe.FILTERS.keys() - labelled
    assert not unlabelled, f"declare these with a label in kreplica/model/predicates/partitions.py: {unlabelled}"
    assert len(describe.FILTERS) >= 8
    for name in describe.FILTERS:
        run(["describe", "--dump", "sample", "--" + name.replace("_", "-")])
        assert asked.pop().filters == (name,)


def test_each_labelled_predicate_is_a_field_of_rows() -> None:
    fields = PARTITION_FIELDS.keys() | {"non_preferred"}  # its field is preferred
    assert {one.name for one in partitions.PREDICATES if one.label} <= fields


def test_each_judge_of_advice_is_in_a_rule() -> None:
    for module in (broker_rules, client_rules, topic_rules):
        source = inspect.getsource(module)
        judges = re.findall(r"^def (\w+)\(.*\) -> Proposal \| None:", source, re.MULTILINE)
        assert judges
        unused = [name for name in judges if len(re.findall(rf"\b{name}\b", source)) < 2]
        assert not unused, f"put a rule with this judge into the tuple of {module.__name__}: {unused}"


def test_each_scenario_is_in_the_list(root: Path) -> None:
    files = {
        (path.stem.replace("_", "-"), path.parent.name)
        for path in (root / "kreplica" / "scenarios" / "library").glob("*/[a-z]*.py")
    }
    assert len(files) >= len(scenarios.MODULES)
    left_out = files - set(scenarios.MODULES.items())
    assert not left_out, f"name in MODULES of kreplica/scenarios/__init__.py: {left_out}"


def test_each_folder_of_commands_is_a_command(root: Path) -> None:
    files = list((root / "commands").glob("*/command.py"))
    left_out = {file.parent.name.replace("_", "-") for file in files} - set(COMMANDS)
    assert not left_out, f"name in SECTIONS of commands/main.py: {left_out}"
    groups = {file.parent.name.replace("_", "-") for file in files if "below: " in file.read_text()}
    assert groups == GROUPS, f"name in GROUPS of commands/main.py: {groups ^ GROUPS}"


def test_each_text_dump_has_a_reader_and_a_line(root: Path) -> None:
    assert set(text_formats.TextFormat) == text_formats._READERS.keys(), (
        "name the reader in _READERS of sources/dumps/text_formats.py"
    )
    defined = {
        name
        for path in (root / "kreplica" / "sources" / "dumps").glob("*.py")
        for name in re.findall(r"^def (read_\w+)\(dump: DumpText\)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    left_out = defined - {reader.__name__ for reader in text_formats._READERS.values()}
    assert not left_out, (
        f"give a member of TextFormat and name in _READERS of sources/dumps/text_formats.py: {left_out}"
    )


def test_each_rule_on_files_is_in_a_table_and_documented(root: Path) -> None:
    known = {*REPLICA_RULES.values(), *DIRECTORY_RULES.values(), identity.topic_ids}
    left_out = {
        name
        for module in (identity, indexes, offsets, producers)
        for name, rule in inspect.getmembers(module, inspect.isfunction)
        if rule.__module__ == module.__name__ and name[0] != "_" and "Iterator[Finding]" in str(rule.__annotations__)
        if rule not in known
    }
    assert not left_out, f"name in REPLICA_RULES or DIRECTORY_RULES of checks/rules.py: {left_out}"
    text = (root / "docs" / "decode.md").read_text(encoding="utf-8")
    silent = [name for name in RULES if f"`{name}`" not in text]
    assert not silent, f"say in the table of docs/decode.md what these hold: {silent}"


def test_each_kind_of_plan_has_its_action_preconditions_and_judges() -> None:
    with_steps = set(plan.PlanKind) - {
        plan.PlanKind.REPLICAS
    }  # whose changes begin one by one: execution/moves/plan.py
    assert plan.STEPS.keys() == with_steps, "name the action in STEPS of execution/plan.py"
    assert plan.PRECONDITIONS.keys() == set(plan.Action), "name them in PRECONDITIONS of execution/plan.py"
    assert drift._CHECKS.keys() == set(plan.Precondition), "name its function in _CHECKS of execution/drift.py"


@pytest.mark.parametrize("kind", CauseKind)
def test_each_cause_is_found_worded_planted_and_documented(kind: CauseKind, root: Path) -> None:
    by_state = kind in dict(STATE_RULES)
    assert by_state or f"CauseKind.{kind.name}" in inspect.getsource(lag_rules), "give it a rule"
    worded = kind.value in {*cause_words._PLAIN, *cause_words._TEXTS}
    assert worded or f"CauseKind.{kind.name}" in inspect.getsource(cause_words), (
        "word it in commands/describe/causes.py"
    )
    faults = (root / "tests" / "support" / "planted" / "faults.py").read_text(encoding="utf-8")
    assert f"{kind.value} " in faults, "plant it in tests/support/planted/faults.py"
    table = (root / "docs" / "health.md").read_text(encoding="utf-8")
    assert f"\n| `{kind.value}` |" in table, "give it a line in the table of docs/health.md"


def found(root: Path, path: str) -> list[Path]:
    """Files and folders that a path of the page may mean: from the root, or from a folder that a sentence is about."""
    here = [root / base / path for base in BASES if (root / base / path).exists()]
    return here or [each for top in ("kreplica", "commands", "tests", "docs") for each in (root / top).rglob(path)]


def test_every_path_is_there(page: str, root: Path) -> None:
    paths = {path for path in PATH.findall(page) if not MADE_UP.search(path)}
    assert len(paths) > 80
    missing = sorted(path for path in paths if not found(root, path.rstrip("/")))
    assert not missing, f"CONTRIBUTING names what is not there: {missing}"


def test_every_name_is_in_the_file_that_is_said_to_have_it(page: str, root: Path) -> None:
    pairs = [(name, path) for names, path in NAMED.findall(page) for name in re.findall(r"\w+", names)]
    pairs = [(name, path) for name, path in pairs if name not in {"and", "or"} and not MADE_UP.search(path)]
    assert len(pairs) > 20
    missing = [
        (name, path)
        for name, path in pairs
        if not any(re.search(rf"\b{name}\b", file.read_text(encoding="utf-8")) for file in found(root, path))
    ]
    assert not missing, f"CONTRIBUTING names what is not there: {missing}"
