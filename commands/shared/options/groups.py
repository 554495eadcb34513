"""Options that belong together, as one argument of a command.

A command that declares ``reasons: ReasonOptions`` and is decorated with ``takes("reasons", ReasonOptions)`` has an
option for each field of that dataclass in place of the parameter.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from typing import Any, get_type_hints

Command = Callable[..., None]


def takes(parameter: str, options: type[Any]) -> Callable[[Command], Command]:
    """Gives a command the options that a dataclass declares.

    Args:
        parameter: Parameter of the command that is given the dataclass.
        options: A dataclass whose fields are annotated as options of typer.
    """
    hints = get_type_hints(options, include_extras=True)
    flags = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hints[field.name],
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
        )
        for field in fields(options)
    ]

    def gathered(given: dict[str, Any]) -> object:
        return options(**{flag.name: given.pop(flag.name) for flag in flags})

    return lambda command: replace_parameter(command, parameter, flags, gathered)


def replace_parameter(
    command: Command,
    name: str,
    options: Sequence[inspect.Parameter],
    gather: Callable[[dict[str, Any]], object],
) -> Command:
    """A command with options in place of one of its parameters.

    Args:
        command: Has the parameter.
        name: Its name.
        options: In its place.
        gather: Takes their values out of all that were given, and makes the argument of them.
    """
    signature = inspect.signature(command, eval_str=True)
    parameters = [
        option
        for parameter in signature.parameters.values()
        for option in (options if parameter.name == name else [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)])
    ]

    @functools.wraps(command)
    def wrapper(**given: Any) -> None:
        argument = gather(given)
        command(**{name: argument}, **given)

    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del wrapper.__wrapped__
    return wrapper
