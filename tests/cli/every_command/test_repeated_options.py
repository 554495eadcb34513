"""An option that is given twice: lists are joined, one value is refused; over every option of every command."""

from __future__ import annotations

from typing import Any

import pytest
import typer.main

from commands.main import build_app
from commands.shared.repeats import joins_repeats

VALUES = ("1", "2")


def leaves(built: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with the words that lead to it."""
    below = getattr(built, "commands", None)
    if below is None:
        return [(path, built)]
    below_path = {name: path if name == built.name else (*path, name) for name in below}
    return [leaf for name, child in below.items() for leaf in leaves(child, below_path[name])]


COMMANDS = dict(leaves(typer.main.get_command(build_app())))
OPTIONS = [(path, option) for path, built in COMMANDS.items() for option in built.params if option.opts[0][0] == "-"]
VALUED = [(path, option) for path, option in OPTIONS if not option.is_flag]
LISTS = [(path, option) for path, option in VALUED if option.multiple or joins_repeats(option)]
SINGLE = [pair for pair in VALUED if pair not in LISTS]
FLAGS = [(path, option) for path, option in OPTIONS if option.is_flag and option.name != "help"]


def name_of(value: object) -> str:
    return "-".join(value) if isinstance(value, tuple) else str(value.opts[0])  # type: ignore[attr-defined]


def test_the_tree_was_walked() -> None:
    assert len(COMMANDS) > 40
    assert len(LISTS) > 40
    assert len(SINGLE) > 200


@pytest.mark.parametrize("path", dict.fromkeys(path for path, _ in SINGLE), ids=name_of)
def test_one_value_given_twice_is_refused(kreplica: Any, path: tuple[str, ...]) -> None:
    for option in [one for where, one in SINGLE if where == path]:
        for flag in option.opts:
            words = [flag, *VALUES[: option.nargs]]
            ended = kreplica(*path, *words, *words)
            assert ended.code == 2, f"{flag} of {path}"
            assert ended.out == ""
            assert ended.err == (
                f"error: {option.opts[0]} is given 2 times; it takes one value; give it once;"
                f" see kreplica {' '.join(path)} --help\n"
            )


@pytest.mark.parametrize(("path", "option"), LISTS, ids=name_of)
def test_a_list_given_twice_is_the_union(path: tuple[str, ...], option: Any) -> None:
    context = COMMANDS[path].make_context("kreplica", [], resilient_parsing=True)
    context.resilient_parsing = False
    first, second = VALUES
    parser = COMMANDS[path].make_parser(context)
    values, _, _ = parser.parse_args([option.opts[0], first, f"{option.opts[0]}={second}"])
    assert values[option.name] == ([first, second] if option.multiple else f"{first},{second}")


@pytest.mark.parametrize("path", dict.fromkeys(path for path, _ in FLAGS), ids=name_of)
def test_a_flag_may_be_repeated_and_its_opposite_may_not(kreplica: Any, path: tuple[str, ...]) -> None:
    for option in [one for where, one in FLAGS if where == path]:
        if option.secondary_opts:
            ended = kreplica(*path, option.opts[0], option.secondary_opts[0])
            assert ended.code == 2
            assert "is given 2 times; they exclude one another" in ended.err
        else:
            assert "is given" not in kreplica(*path, option.opts[0], option.opts[0], "--no-such-option").err


@pytest.mark.parametrize("topics", [("single-copy", "orders"), ("orders", "single-copy"), ("single-copy,orders",)])
def test_a_topic_that_is_named_first_is_judged_too(kreplica: Any, topics: tuple[str, ...]) -> None:
    words = [word for topic in topics for word in ("--topic", topic)]
    found = kreplica("check", "--rule", "offline", *words, "--dump", "sample", "-o", "json")
    assert found.code == 1
    assert {row["topic"] for row in found.document["findings"]} == {"single-copy"}


@pytest.mark.parametrize("brokers", [("--broker", "1,3"), ("--broker", "3", "--broker", "1"), ("--broker=3,1",)])
@pytest.mark.parametrize("command", [("describe", "--all"), ("wait", "--for", "in-sync"), ("disks",)], ids=name_of)
def test_brokers_are_separated_by_commas_or_named_again(
    kreplica: Any, command: tuple[str, ...], brokers: tuple[str, ...]
) -> None:
    named = kreplica(*command, *brokers, "--dump", "sample", "-o", "json")
    whole = kreplica(*command, "--broker", "1", "--broker", "3", "--dump", "sample", "-o", "json")
    assert named.code == whole.code
    rows = list(whole.document)[2]
    assert sorted(map(str, named.document[rows])) == sorted(map(str, whole.document[rows]))
    assert len(whole.document[rows]) > 0


def test_brokers_to_stop_are_separated_by_commas_too(kreplica: Any) -> None:
    assert kreplica("safe-to-stop", "1,2", "--dump", "sample", "-o", "json").document["summary"]["brokers"] == [1, 2]
    wrong = kreplica("safe-to-stop", "1,x", "--dump", "sample")
    assert (wrong.code, wrong.err) == (
        2,
        "error: BROKER 'x' is no broker id; ids are whole numbers; as in BROKER 1,2\n",
    )


def test_an_error_that_lists_choices_has_no_control_characters(kreplica: Any) -> None:
    ended = kreplica("wait", "--dump", "sample")
    assert ended.code == 2
    assert ended.err == (
        "error: missing option '--for'. Choose from: no-under-replicated, in-sync; see kreplica wait --help\n"
    )
