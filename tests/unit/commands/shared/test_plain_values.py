"""Values that are taken without typer's validators: always what those would have given, for every option there is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer
import typer.core
import typer.main
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st

from commands.main import build_app
from commands.shared.plain_values import _BUILDER, _PlainFirst

SPELLINGS = (
    *("", " ", "0", "1", "-1", "+1", " 5", "5 ", "1_000", "007", "1.5", ".5", "1e3", "inf", "nan", "9" * 18, "-" * 3),
    *("true", "x", "٣", "²", "table", "TABLE", "json", "kafka-1.0", "acks=1", "\udcff", "a\udc80b", "é", "-", "--"),
)


def parameters() -> Iterator[Any]:
    """Those of every command."""
    below = [typer.main.get_command(build_app())]
    while below:
        command: Any = below.pop()
        below += getattr(command, "commands", {}).values()
        yield from (each for each in command.params if hasattr(each, "type_descriptor"))


def distinct() -> dict[str, Any]:
    """One parameter of each kind: type, range and whether it takes several values."""
    found: dict[str, Any] = {}
    for each in parameters():
        info = each.type_descriptor.parameter_info
        kind = f"{each.type_descriptor.annotation} {info.min} {info.max} {each.multiple} {each.nargs}"
        found.setdefault(kind, each)
    return found


KINDS = distinct()


def coerced(build: Any, parameter: Any, value: Any) -> tuple[str, str]:
    context = typer.Context(typer.core.TyperCommand("kreplica"))
    try:
        found = build(parameter.type_descriptor).coerce(value, param=parameter, ctx=context)
    except typer.BadParameter as error:
        return "refused", error.message
    return type(found).__name__, repr(found)  # NaN is not itself


def test_there_are_parameters_of_every_kind() -> None:
    assert len(KINDS) > 12
    assert isinstance(getattr(typer.core, _BUILDER), _PlainFirst), "typer calls what is put in its place"


@pytest.mark.parametrize("kind", sorted(KINDS))
@examples(0.6)
@given(value=st.sampled_from(SPELLINGS) | st.text(max_size=8) | st.integers(-5, 10**6).map(str))
@example(value=None)
def test_values_are_what_typer_makes_of_them(kind: str, value: str | None) -> None:
    parameter, plain_first = KINDS[kind], getattr(typer.core, _BUILDER)
    several = parameter.multiple or parameter.nargs == -1
    values = [value] if value is None or not several else [(), (value,), ("1", value), [value]]
    for each in [*values, *([] if several else [parameter.default])]:
        assert coerced(plain_first, parameter, each) == coerced(plain_first.build, parameter, each)


@pytest.mark.parametrize(
    "kind", sorted(kind for kind in KINDS if kind.startswith("<class 'int'>") and "True" not in kind)
)
def test_numbers_end_with_64_bits(kind: str) -> None:
    parameter, plain_first = KINDS[kind], getattr(typer.core, _BUILDER)
    for value in (2**63, -(2**63) - 1, 10**30):
        assert coerced(plain_first, parameter, str(value))[0] == "refused"
    if parameter.type_descriptor.parameter_info.max is None:
        assert coerced(plain_first, parameter, str(2**63 - 1)) == ("int", str(2**63 - 1))


@pytest.mark.parametrize("kind", sorted(kind for kind in KINDS if "commands." in kind))
def test_every_choice_is_taken_by_its_spelling(kind: str) -> None:
    parameter, plain_first = KINDS[kind], getattr(typer.core, _BUILDER)
    for choice in parameter.type_descriptor.choices:
        for value in (choice, choice.value, choice.value.upper()):
            each = (value,) if parameter.multiple else value
            assert coerced(plain_first, parameter, each) == coerced(plain_first.build, parameter, each)


@pytest.mark.parametrize(
    "words",
    [("describe", "--dump", "sample", "-o", "json", "--exit-zero"), ("decode", "offsets", "--partition-of", "g")],
)
def test_what_is_spelled_rightly_imports_no_validator(words: tuple[str, ...]) -> None:
    code = (
        "import sys; from commands.main import run; assert run(sys.argv[1:]) == 0; sys.exit('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
