"""Candidates for the word under the cursor, for which the completion scripts ask.

A script calls the program with the words typed so far and the number of the word under the cursor in
``_KREPLICA_COMPLETE``. The answer is one candidate a line, ``word<TAB>VALUE<TAB>help``, or ``file<TAB>.`` where the
shell shall offer its files. The command that the user is typing is never run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import typer

from commands.completions.command import VARIABLE
from commands.completions.tree import Command, Parameter, command_tree
from commands.shared.printing.terminal import printable
from kreplica.errors import KreplicaError

PATH_METAVARS = ("FILE", "PATH", "PATH...", "DIR", "DIR...", "DUMP...")
"""An option or argument whose value the help calls by one of these names is completed by file names."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One word on offer."""

    value: str
    help: str = ""


FILES = Candidate("")
"""Stands for the file names that the shell itself finds."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Position of the cursor: after which complete words of which command.

    Args:
        command: The innermost command named so far.
        pending: The option whose value comes next.
        arguments: How many arguments of the command are given.
        only_arguments: Whether ``--`` was given.
    """

    command: Command
    pending: Parameter | None = None
    arguments: int = 0
    only_arguments: bool = False


def answer(build_app: Callable[[Sequence[str]], typer.Typer], words: Sequence[str], environ: Mapping[str, str]) -> None:
    """Prints the candidates for the word that the environment names; nothing when it names none.

    Args:
        build_app: Builds the part of the application that the complete words name.
        words: The words after the program's name.
        environ: The environment, which has the number of the word.
    """
    place = environ[VARIABLE]
    if not (place.isascii() and place.isdecimal() and int(place) > 0):
        return
    index = int(place)
    # a shell may drop an empty last word
    typed = [*words[:index], *[""] * (index - len(words))]
    for candidate in candidates(command_tree(build_app(typed[:-1])), typed, environ):
        if not candidate.value.isprintable():  # a shell would show it, and split the line
            continue
        line = "file\t." if candidate is FILES else f"word\t{candidate.value}\t{printable(candidate.help)}"
        sys.stdout.write(line + "\n")


def candidates(root: Command, words: Sequence[str], environ: Mapping[str, str] = os.environ) -> list[Candidate]:
    """The words that may stand in place of the last one.

    Args:
        root: The application.
        words: The words after the program's name up to the cursor; the last is the one to complete, perhaps empty.
        environ: The environment, which may name the contexts file.
    """
    assert words, "there is always a word to complete"
    *complete, current = _join_equals(words)
    place = _Place(root)
    for word in complete:
        place = _step(place, word)
    name, sign, value = current.partition("=")
    option = _option(place.command, name) if sign and not place.only_arguments else None
    if place.pending is None and option is not None and option.takes_value:
        return [_prefixed(name, found) for found in _values(option, environ) if found.value.startswith(value)]
    return [found for found in _at(place, current, environ) if found.value.startswith(current) or found is FILES]


def _join_equals(words: Sequence[str]) -> list[str]:
    """Undoes bash's splitting: ``--output``, ``=``, ``js`` are two words to us, option and value."""
    *complete, current = words
    kept = [word for word in complete if word != "="]
    return [*kept, "" if current == "=" else current]


def _step(place: _Place, word: str) -> _Place:
    command = place.command
    if place.pending is not None:
        return _Place(command, None, place.arguments, place.only_arguments)
    if word == "--" and not place.only_arguments:
        return _Place(command, None, place.arguments, only_arguments=True)
    if word.startswith("-") and not place.only_arguments:
        option = _option(command, word)
        return _Place(command, option if option and option.takes_value else None, place.arguments)
    below = command.find(word) if place.arguments == 0 else None
    return _Place(below) if below else _Place(command, None, place.arguments + 1, place.only_arguments)


def _option(command: Command, flag: str) -> Parameter | None:
    return next((option for option in command.options if flag in option.flags), None)


def _at(place: _Place, current: str, environ: Mapping[str, str]) -> Iterable[Candidate]:
    command = place.command
    if place.pending is not None:
        return _values(place.pending, environ)
    if command.passes_on and place.arguments >= len(command.arguments) - 1:
        return [FILES]
    if current.startswith("-") and not place.only_arguments:
        return _flags(command)
    argument = _argument(command, place.arguments)
    values = [] if argument is None else list(_values(argument, environ))
    if command.commands and place.arguments == 0:
        return [*(Candidate(below.name, below.brief) for below in command.commands), *values]
    if argument is not None:
        return values
    return [] if place.only_arguments else _flags(command)


def _flags(command: Command) -> list[Candidate]:
    own = [Candidate(flag, option.help) for option in command.options for flag in option.flags if flag[:2] == "--"]
    return [*own, Candidate("--help", "Show this message and exit.")]


def _argument(command: Command, given: int) -> Parameter | None:
    if given < len(command.arguments):
        return command.arguments[given]
    last = command.arguments[-1] if command.arguments else None
    return last if last is not None and last.several else None


def _values(parameter: Parameter, environ: Mapping[str, str]) -> list[Candidate]:
    if parameter.choices:
        return [Candidate(choice) for choice in parameter.choices]
    if "--context" in parameter.flags or parameter.metavar.strip("[].") == "CONTEXT":
        return _contexts(environ)
    if parameter.metavar.strip("[]") == "SCENARIO":
        return _scenarios()
    for flag in parameter.flags:
        if flag in _KNOWN_VALUES:
            return _KNOWN_VALUES[flag]()
    return [FILES] if parameter.metavar in PATH_METAVARS else []


def _contexts(environ: Mapping[str, str]) -> list[Candidate]:
    from kreplica.config.contexts import load_contexts

    try:
        return [
            Candidate(name, context.bootstrap_servers or "")
            for name, context in load_contexts(None, environ).contexts.items()
        ]
    except KreplicaError:  # a broken file is reported when a command is run, not while one is typed
        return []


def _rules() -> list[Candidate]:
    from kreplica.health.rules import GROUP_RULES, PARTITION_RULES

    whys = [(rule.name, rule.why) for rule in PARTITION_RULES] + [(rule.name, rule.why) for rule in GROUP_RULES]
    return [Candidate(name, why) for name, why in whys]


def _scenarios() -> list[Candidate]:
    from kreplica.scenarios import names

    return [Candidate(name) for name in names()]


def _versions() -> list[Candidate]:
    from kreplica.engine.versions.supported import VERSIONS

    return [Candidate(version.name) for version in VERSIONS]


def _settings() -> list[Candidate]:
    from kreplica.engine.settings import SETTINGS, Scope

    return [Candidate(f"{name}=") for name, setting in SETTINGS.items() if setting.scope is not Scope.FEATURE]


def _features() -> list[Candidate]:
    from kreplica.engine.versions.features import FEATURE_NAMES

    return [Candidate(f"{name}=") for name in FEATURE_NAMES]


def _dumps() -> list[Candidate]:
    from kreplica.config.ways_in import PACKAGED_DUMPS

    return [*(Candidate(name, told) for name, told in PACKAGED_DUMPS.items()), FILES]


_KNOWN_VALUES: dict[str, Callable[[], list[Candidate]]] = {
    "--rule": _rules,
    "--dump": _dumps,
    "--kafka-version": _versions,
    "--set": _settings,
    "--feature": _features,
    "--from": _dumps,
}


def _prefixed(flag: str, candidate: Candidate) -> Candidate:
    return candidate if candidate is FILES else Candidate(f"{flag}={candidate.value}", candidate.help)
