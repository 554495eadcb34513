"""Command lines at random: whatever is typed ends with an exit code of the contract, never as a defect.

Addresses are a closed port of loopback and paths lie in one empty folder, so that no line reaches or changes anything.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from answers.command_lines import GOLDEN, prepare
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from commands.completions.tree import Command, Parameter, command_tree
from commands.main import build_app, run

TREE = {
    " ".join(command.path[1:]): command
    for command in command_tree(build_app()).walk()
    if command.runs and not command.passes_on
}
ODD = st.sampled_from(
    [
        *("", "-", "--", "0", "-1", "1", "2", "99999999999999999999", "18446744073709551616", "1e308", "nan", "0x10"),
        *("1,2", "1,,2", "a,b", "a=b", "=", "*", "[", "(", "^$", "orders", "orders-0", "orders:0", "sample", "all"),
        *("5s", "1h", "-5s", "999999999999d", "2026-11-21", "2026-11-21T07:05:54Z", "0001-01-01", "9999-12-31"),
        *("127.0.0.1:1", "127.0.0.1", "kafka..prod:9092", ":1", "127.0.0.1:99999", "in-sync", "acks=all", "é\u202e"),
        *("x" * 300, "x" * 5000, "\udce9", "a\nb", "[/foo]", "{}", "[[", "3.9", "0.10", "hw-truncation-loss"),
    ]
)
VALUES = ODD | st.integers(-(2**70), 2**70).map(str) | st.text(max_size=12).filter(lambda text: "\0" not in text)
FILES = st.sampled_from(
    ["plan.json", "contexts.toml", "damaged", "none", ".", f"{GOLDEN / 'clean' / 'broker-1' / 'data' / 'payments-2'}"]
)
NEVER = {"--help", "--watch", "--wait", "--execute", "--bootstrap-server", "--zookeeper"}
"""Without end, a change of what there is, or a connection: these have tests of their own."""


def values(parameter: Parameter) -> st.SearchStrategy[str]:
    if parameter.choices:
        return st.sampled_from(parameter.choices) | ODD
    if any(word in parameter.metavar for word in ("FILE", "PATH", "DIR", "PLAN")):
        return FILES | ODD
    return VALUES


def given_option(option: Parameter) -> st.SearchStrategy[list[str]]:
    flag = st.sampled_from(option.flags)
    if not option.takes_value:
        return flag.map(lambda name: [name])
    return st.tuples(flag, values(option)).map(list)


@st.composite
def lines(draw: st.DrawFn, command: Command) -> list[str]:
    """Words behind a command: a way in or none, a few options, its arguments or not."""
    options = [option for option in command.options if not NEVER & set(option.flags)]
    named = {flag for option in command.options for flag in option.flags}
    words: list[str] = []
    if "--dump" in named and draw(st.integers(0, 9)):
        words += ["--dump", draw(st.sampled_from(["sample", "sample-healthy"]))]
    for option in draw(st.lists(st.sampled_from(options), max_size=4)) if options else []:
        words += draw(given_option(option))
    for argument in command.arguments:
        words += draw(st.lists(values(argument), min_size=1 if draw(st.integers(0, 9)) else 0, max_size=2))
    if "--timeout" in named:
        words += ["--timeout", "0.2"]
    return words


@pytest.fixture(scope="module")
def empty_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The current folder, the user's home and the sandboxes' home while lines are tried."""
    folder = tmp_path_factory.mktemp("any")
    prepare(folder)
    (folder / "plan.json").write_text("{}")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("HOME", str(folder))
        patch.setenv("XDG_CONFIG_HOME", str(folder))
        patch.setenv("KREPLICA_SANDBOX_HOME", str(folder / "sandboxes"))
        patch.setenv("KREPLICA_CONFIG", str(folder / "contexts.toml"))
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
        yield folder


def ends(words: list[str]) -> tuple[int, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = int(run(words))
    return code, err.getvalue()


DEAR = {"audit", "audit prepare", "sandbox start", "whatif run", "whatif compare", "whatif prove"}
"""Lines that are right start Spark or brokers, play or search: those that are refused are tried below."""


@pytest.mark.parametrize("command", sorted(TREE.keys() - DEAR))
@examples(0.2)
@given(data=st.data())
def test_any_command_line_ends_by_the_contract(empty_folder: Path, command: str, data: st.DataObject) -> None:
    words = [*command.split(), *data.draw(lines(TREE[command]))]
    code, err = ends(words)
    assert code in (0, 1, 2, 3, 4, 5), (words, code, err)
    assert "Traceback" not in err
    if code == 2:
        assert err.startswith(("error: ", "warning: ", "Usage: ")), err


@pytest.mark.parametrize(
    "words",
    [
        ["decode", "check", ".", "--metadata", "x" * 300],
        ["whatif", "run", "hw-truncation-loss", "--runs", "99999999999999999999"],
        ["whatif", "fail", "--dump", "sample", "--broker", "1", "--min-isr", "18446744073709551616"],
        ["whatif", "prove", "--replicas", "18446744073709551616"],
        ["whatif", "prove", "--model", "x" * 5000],
        ["whatif", "prove", "--memory", "-1"],
    ],
)
def test_lines_that_were_defects_are_refused(empty_folder: Path, words: list[str]) -> None:
    code, err = ends(words)
    assert (code, err.startswith("error: ")) == (2, True), err
