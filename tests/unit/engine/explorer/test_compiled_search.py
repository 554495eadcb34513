"""The compiled search finds what the plain one finds, and what can be counted on paper; its code is never another's."""

from __future__ import annotations

import errno
import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from engine.small_models import Counters, counters, one_more, two_more

from kreplica.engine.explorer import plain_search
from kreplica.engine.explorer.compiled import search as compiled_search
from kreplica.engine.explorer.compiled.build import linked
from kreplica.engine.explorer.compiled.compiler import (
    KEPT_FOLDERS,
    Compiler,
    called_by_one,
    code_folder,
    digest,
)
from kreplica.engine.explorer.explored import Explored, Progress
from kreplica.engine.explorer.layout import Field, Layout, OutOfRangeError
from kreplica.engine.explorer.model import Model
from kreplica.engine.explorer.models.one_partition import rules
from kreplica.engine.explorer.models.one_partition.models import TABLES, model_of
from kreplica.engine.explorer.models.one_partition.state import Bounds

PLENTY = 2**30
COUNTED = [
    ("truncate-to-hw", None, None, {"strong-isr": 9, "weak-isr": 9, "hw-prefix": 14, "epoch-prefix": 11}),
    ("kip-101", None, None, {"strong-isr": 11, "weak-isr": 11, "hw-prefix": 18, "epoch-prefix": 11}),
    ("kip-320-first-try", None, None, {"strong-isr": 13, "weak-isr": 12, "epoch-prefix": 8}),
    ("kip-320", 737_794, 26, {}),
]
"""TLC's counts with three replicas, two offsets, two records and the epochs 0 to 2, without symmetry."""

MUTANTS = {
    "kip-320": {},
    "kip-320-m1": {"strong-isr": 14, "weak-isr": 14},
    "kip-320-m2": {"strong-isr": 12, "weak-isr": 14},
    "kip-320-m3": {"strong-isr": 13, "weak-isr": 13},
    "kip-320-m4": {"weak-isr": 13},
    "kip-320-m5": {},
    "kip-320-m6": {"strong-isr": 12, "weak-isr": 14},
    "kip-320-m7": {"strong-isr": 14, "weak-isr": 14},
}
"""The shortest counterexamples that TLC finds of KIP-320 with one guard changed, within the same bounds."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for compiled code."""
    monkeypatch.setenv("KREPLICA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "compiled"


def explore(model: Model, *invariants: str, memory: int = PLENTY) -> Explored:
    return compiled_search.search(model, [one for one in model.invariants if one.name in invariants], memory)


def rule_of(file: Path, step: int) -> Callable[[int], int]:
    """The rule of a file, edited to go up by ``step``."""
    file.write_text(f"def raised(value):\n    return value + {step}\n", encoding="utf-8")
    scope: dict[str, Any] = {"__name__": "engine.small_models"}  # code of a module that cannot be imported is not kept
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), scope)
    rule: Callable[[int], int] = scope["raised"]
    return rule


def kept(folder: Path) -> dict[Path, int]:
    """Files of compiled code, each with the time of its last change."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.nb?")}


def test_an_edited_rule_changes_the_verdict_and_the_same_rule_finds_its_code_again(
    tmp_path: Path, folder: Path
) -> None:
    """By ones, 7 * 7 states, and the counters stand at 2 and 1 in the fourth; by twos 4 * 4, and in the third."""

    def found(step: int) -> tuple[int, int, int]:
        model = counters(6, rule_of(tmp_path / "rule.py", step))
        every = explore(model, "below")
        assert every.complete
        return every.distinct, every.depth, len(explore(model, "together").broken["together"])

    by_ones, by_twos = (49, 13, 4), (16, 7, 3)
    assert [found(1), found(2)] == [by_ones, by_twos]
    code = kept(folder)
    assert code
    assert [found(2), found(1)] == [by_twos, by_ones]
    assert kept(folder) == code


def damage(path: Path, content: bytes) -> None:
    if content == b"a folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(content)


@pytest.mark.parametrize("which", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("content", [b"", b"garbage\n", bytes(4096), b"a folder"])
def test_kept_code_that_is_damaged_is_compiled_anew_and_kept_the_next_time(
    which: str, content: bytes, folder: Path
) -> None:
    """Each call is that of another compiler, as in a process of its own."""

    def called() -> int:
        answer: int = Compiler(folder).kept(one_more)(6)
        return answer

    assert called() == 7
    whole = kept(folder)
    for path in [path for path in whole if path.match(which)]:
        damage(path, content)
    assert [called(), called()] == [7, 7]
    mended = kept(folder)
    assert {path.name for path in mended} == {path.name for path in whole}
    assert called() == 7
    assert kept(folder) == mended


def test_code_that_cannot_be_kept_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    assert Compiler(folder).kept(one_more)(6) == 7
    assert kept(folder) == {}


def test_the_code_of_a_function_whose_module_has_moved_is_not_taken() -> None:
    """numba finds the module of a kept function by its name, and ends where there is none any more."""
    here, moved = (FunctionType(two_more.__code__, {"__name__": name}) for name in ("here", "moved"))
    assert digest(here) != digest(moved)


def shortest(name: str) -> dict[str, int]:
    """States of the shortest counterexamples of a model."""
    broken = explore(model_of(name, Bounds(3, 2, 2, 2)), "strong-isr", "weak-isr").broken
    return {invariant: len(states) for invariant, states in broken.items()}


@pytest.fixture(scope="module")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of compiled code for all mutants, and for what comes after them."""
    return tmp_path_factory.mktemp("mutants")


COMPILED_ONCE = pytest.mark.xdist_group("kip-320")
"""Of tests that search KIP-320 within the same bounds: in one process, the first of them compiles it."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[COMPILED_ONCE] if name == "kip-320" else []) for name in MUTANTS]
)
def test_a_mutant_has_its_own_verdict_cold_and_warm(
    name: str, shared_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The models share one kernel and one folder, so code that is taken for another's shows in the next verdict."""
    monkeypatch.setenv("KREPLICA_CACHE", str(shared_folder))
    known = kept(shared_folder)
    assert shortest(name) == MUTANTS[name]
    code = kept(shared_folder)
    assert len(code) > len(known)
    assert shortest(name) == MUTANTS[name]
    assert kept(shared_folder) == code


_SEARCHED_IN_ORDER = """
import sys
from kreplica.engine.explorer.compiled.search import search
from kreplica.engine.explorer.models.one_partition.models import model_of
from kreplica.engine.explorer.models.one_partition.state import Bounds

for name in sys.argv[1:]:
    model = model_of(name, Bounds(2, 2, 2, 1))
    found = search(model, [one for one in model.invariants if one.name == "strong-isr"], 2**30)
    print(name, found.distinct, found.depth)
"""


@pytest.mark.slow
def test_kept_code_is_its_models_own_after_another_model_was_compiled() -> None:
    """TLC counts 1,177 and 957 states. numba numbers functions anew in each process, so that their names repeat."""

    def searched(*names: str) -> list[str]:
        command = [sys.executable, "-c", _SEARCHED_IN_ORDER, *names]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    assert searched("kip-101") == ["kip-101 1177 15"]
    assert searched("kip-320", "kip-101") == ["kip-320 957 15", "kip-101 1177 15"]


@COMPILED_ONCE
@pytest.mark.slow
def test_an_edited_rule_of_kip_320_changes_its_verdict(shared_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KAFKA-7128 edited back in: the names of rule, module and model stay, the verdict is that of mutant 2."""
    monkeypatch.setenv("KREPLICA_CACHE", str(shared_folder))
    assert shortest("kip-320") == MUTANTS["kip-320"]
    source = inspect.getsource(rules)
    before = "return epoch_at(state, leader, high_watermark) == state.epoch[leader]"
    assert source.count(before) == 1
    edited: dict[str, Any] = {"__name__": rules.__name__}
    exec(compile(source.replace(before, "return True"), rules.__file__, "exec"), edited)
    monkeypatch.setitem(TABLES, "kip-320", replace(TABLES["kip-320"], admits=edited["admits_in_own_epoch"]))
    assert shortest("kip-320") == MUTANTS["kip-320-m2"]


def test_the_folders_used_last_are_kept(folder: Path) -> None:
    names = [f"{number:064x}"[::-1] for number in range(KEPT_FOLDERS + 2)]
    for age, name in enumerate(names):
        found = code_folder(name)
        assert found is not None
        (found / "code").touch()
        os.utime(found, (age, age))
    assert code_folder(names[2]) is not None
    others = [folder / "notes", folder / names[0]]
    for other in others:
        other.mkdir()
        os.utime(other, (0, 0))
    assert code_folder("f" * 64) is not None
    left = {each.name for each in folder.iterdir()}
    assert left == {"notes", names[0], names[2][:32], "f" * 32, *(name[:32] for name in names[4:])}
    assert (folder / names[2][:32] / "code").exists()


def test_whatever_is_compiled_is_in_the_digest(tmp_path: Path) -> None:
    digests = [
        digest(*linked(model))
        for model in (
            counters(6),
            counters(7),
            counters(6, two_more),
            counters(6, room=63),
            counters(6, rule_of(tmp_path / "rule.py", 1)),
            *(model_of(name, Bounds(3, 2, 2, 2)) for name in TABLES),
            model_of("kip-320", Bounds(3, 2, 2, 1)),
        )
    ]
    assert len(set(digests)) == len(digests) - 1
    assert digests[0] == digests[4] == digest(*linked(counters(6, one_more)))


SOURCE = """
from enum import IntEnum
LIMIT = 3
ABOVE = 1
class Code(IntEnum):
    NONE = 0
    WRONG = 1
def helper(value, least=0):
    return max([least, *[each + ABOVE for each in (value,)]])
def rule(value):
    return Code.WRONG if helper(value) > LIMIT else Code.NONE
"""


def digest_of(source: str) -> str:
    scope: dict[str, Any] = {"__name__": "engine.small_models"}
    exec(source, scope)
    return digest(scope["rule"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("ABOVE = 1", "ABOVE = 2"),
        ("WRONG = 1", "WRONG = 2"),
        ("least=0", "least=1"),
        ("max([", "min(["),
        ("> LIMIT", ">= LIMIT"),
    ],
)
def test_the_digest_changes_with_all_that_a_rule_names_and_with_nothing_else(before: str, after: str) -> None:
    assert digest_of(SOURCE.replace(before, after)) != digest_of(SOURCE)
    assert digest_of(f"# a remark\n\n{SOURCE}") == digest_of(SOURCE)


CALLS = """
def shared(value): return value
def alone(value): return shared(value)
def closed_over(value): return shared(value) + shared(value)
def built(inner):
    def closure(value): return inner(value) + alone(value)
    return closure
closure = built(closed_over)
def asks(value): return closure(value)
def asks_too(value): return closure(value)
"""


def test_functions_with_one_caller_become_parts_of_it() -> None:
    scope: dict[str, Any] = {"__name__": "engine.small_models"}
    exec(CALLS, scope)
    assert called_by_one(scope["asks"]) == {scope["closure"], scope["alone"], scope["closed_over"]}
    assert called_by_one(scope["asks"], scope["asks_too"]) == {scope["alone"], scope["closed_over"]}


@pytest.mark.slow
def test_arrays_grow_and_a_limit_of_memory_ends_in_a_partial_result() -> None:
    most = 1_499
    model, told = counters(most), list[Progress]()
    found = compiled_search.search(model, model.invariants[:1], PLENTY, told.append)
    assert (found.distinct, found.depth, found.complete) == ((most + 1) ** 2, 2 * most + 1, True)
    assert [one.distinct - one.waiting for one in told[:3]] == [200_000, 400_000, 600_000]
    part = explore(model, "below", memory=20 * 1_100_000)
    assert part.out_of_memory
    assert not part.complete
    assert 1_100_000 <= part.distinct < 1_100_010
    assert explore(model, "together").broken.keys() == {"together"}


@pytest.mark.slow
def test_a_number_that_its_field_cannot_hold_ends_the_search() -> None:
    for search in (plain_search.search, compiled_search.search):
        model = counters(6, two_more, room=7)
        assert search(model, model.invariants[:1], PLENTY).distinct == 16
        model = counters(8, two_more, room=7)
        with pytest.raises(OutOfRangeError, match=r"(left|right) is \[8\], not 1 of 0 to 7"):
            search(model, model.invariants[:1], PLENTY)


def three_left_out(value: int) -> int:
    return 4 if value == 2 else value + 1


@pytest.mark.one_python
def test_what_comes_after_the_last_invariant_is_broken_is_not_taken() -> None:
    """(2, 0) leads to (2, 1), which breaks it; (0, 2), two states later on the same level, to a right of 4: no room."""
    layout = Layout(Counters, {"left": Field(7), "right": Field(3)})
    model = replace(counters(6, three_left_out), layout=layout)
    plain = plain_search.search(model, model.invariants[1:], PLENTY)
    assert len(plain.broken["together"]) == 4
    assert explore(model, "together") == plain
    with pytest.raises(OutOfRangeError):
        explore(model, "together", "below")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "distinct", "depth", "shortest"),
    [pytest.param(*row, marks=[COMPILED_ONCE] if row[0] == "kip-320" else []) for row in COUNTED],
)
def test_the_published_models_have_the_states_and_counterexamples_that_tlc_counts(
    name: str,
    distinct: int | None,
    depth: int | None,
    shortest: dict[str, int],
    shared_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KREPLICA_CACHE", str(shared_folder))
    model = model_of(name, Bounds(3, 2, 2, 2))
    found = explore(model, *(one.name for one in model.invariants))
    assert {invariant: len(states) for invariant, states in found.broken.items()} == shortest
    if distinct is not None:
        assert (found.distinct, found.depth, found.complete) == (distinct, depth, True)
