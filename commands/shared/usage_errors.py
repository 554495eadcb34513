"""Errors of the parser of command lines in kreplica's words: what does not fit, and what may be meant instead."""

from __future__ import annotations

import re
from typing import Any

from kreplica.errors import UsageError, as_clause
from kreplica.model.wording.nearest_names import nearest_names

_PARSING = re.compile(r", unable to parse string as an? \w+$")
"""End of a message of the validators that says no more than what comes before."""

_SUGGESTED = re.compile(r"\. Did you mean (?P<names>.+)\?$")
_EXTRA = re.compile(r"^Got unexpected extra argument(?:s|\(s\))? \((?P<words>.*)\)$")


def usage_error(error: Exception) -> UsageError:
    """The error for the user.

    Args:
        error: A usage error of typer; their base class is not public.
    """
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "kreplica"
    what, why = _message(error, context)
    return UsageError(as_clause(what), why, fix=f"see {path} --help")


def _message(error: Any, context: Any) -> tuple[str, str]:
    """The fact, and what may be meant; empty where nothing is near."""
    if type(error).__name__ == "NoSuchOption" and context is not None:
        return error.message, _instead(error.option_name, context)
    message = " ".join(str(error.format_message()).split())
    suggested, extra = _SUGGESTED.search(message), _EXTRA.match(message)
    if suggested is not None:
        return message[: suggested.start()], f"did you mean {suggested['names'].replace(chr(39), '')}?"
    if extra is not None and context is not None and not _arguments(context):
        return f"unexpected argument {extra['words']}", "here an option stands before each value"
    message = message.rstrip(".").replace(": Value error, ", ": ").replace(": Input should be ", ": it has to be ")
    return _PARSING.sub("", message), ""


def _instead(option: str, context: Any) -> str:
    """Options with a name like that of one that there is not, or the argument that stands without one."""
    word = option.lstrip("-")
    if any(argument.name in (word, f"{word}s") for argument in _arguments(context)):
        return f"give the {word} without it: {context.command_path} {word.upper()}"
    known = {name.lstrip("-"): name for parameter in context.command.params for name in parameter.opts}
    near = [known[name] for name in nearest_names(word, known)]
    return f"did you mean {', '.join(near)}?" if near else ""


def _arguments(context: Any) -> list[Any]:
    """Parameters that are typed without an option."""
    return [one for one in context.command.params if one.param_type_name == "argument"]
