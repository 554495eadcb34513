"""One page for each command: its help, its options, the fields of its rows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from answer_fields import ANSWERS, AnswerFields
from markdown import NOTICE, code, page, paragraphs, table

from commands.completions.tree import Command, Parameter, command_tree
from commands.main import build_app

CLOSING = "Exit codes and the forms of an answer: [answers](answers.md)."
TREE = command_tree(build_app())


def pages() -> dict[str, str]:
    """File name and text of each page."""
    return {f"{command.name}.md": _page(command) for command in TREE.commands}


def index(paths: Iterable[Path]) -> str:
    """The page that lists all others."""
    names = {command.name: command for command in TREE.commands}
    others = sorted(path.stem for path in paths if path.stem not in names)
    blocks = [
        NOTICE,
        "# Reference",
        "Commands:",
        table(["command", "what it does"], [[f"[{name}]({name}.md)", names[name].brief] for name in names]),
        "What the commands share:",
        "\n".join(f"- [{name.replace('-', ' ')}]({name}.md)" for name in others),
    ]
    return "\n\n".join(blocks) + "\n"


def _page(command: Command) -> str:
    if not command.commands:
        return page(_title(command), *_blocks(command, "##"), CLOSING)
    sections = [block for below in command.commands for block in [f"## {_title(below)}", *_blocks(below, "###")]]
    lead = _blocks(command, "##") if command.runs else [paragraphs(command.help)]
    return page(_title(command), *lead, *sections, CLOSING)


def _title(command: Command) -> str:
    return " ".join(command.path)


def _blocks(command: Command, heading: str) -> list[str]:
    name = _title(command)
    assert command.help, f"{name} has no help"
    blocks = [paragraphs(command.help), f"```\n{_synopsis(command)}\n```"]
    if command.runs:
        blocks += ["Examples:", "```\n" + "\n".join(command.examples) + "\n```"]
    if command.arguments:
        rows = [[code(argument.metavar), _meaning(argument)] for argument in command.arguments]
        blocks += [f"{heading} Arguments", table(["argument", "meaning"], rows)]
    rows = [[_flags(option), _meaning(option), code(option.default)] for option in command.options]
    blocks += [f"{heading} Options", table(["option", "meaning", "default"], rows)] if rows else []
    answers = any("--output" in option.flags for option in command.options)
    assert answers == (name in ANSWERS), (
        f"{name}: say in docs/generator/answer_fields.py what the fields of its rows mean"
    )
    return blocks + (_answer(ANSWERS[name], heading) if answers else [])


def _synopsis(command: Command) -> str:
    options = ["[OPTIONS]"] if command.options else []
    arguments = [argument.metavar if argument.required else f"[{argument.metavar}]" for argument in command.arguments]
    return " ".join([*command.path, *options, *arguments])


def _flags(option: Parameter) -> str:
    value = f" {option.metavar}" if option.takes_value else ""
    return code(", ".join(option.flags) + value)


def _meaning(parameter: Parameter) -> str:
    assert parameter.help, f"{parameter.flags or parameter.metavar} has no help"
    return parameter.help + (" Required." if parameter.required and parameter.flags else "")


def _answer(answer: AnswerFields, heading: str) -> list[str]:
    if answer.same_as:
        said = f"`{answer.schema}`: the same fields as those of `{answer.same_as}`, under `{answer.rows_name}`."
        return [f"{heading} Rows", said]
    rows = [[code(name), meaning] for name, meaning in answer.fields.items()]
    lead = (
        f"`-o json` gives `{answer.schema}` with the rows under `{answer.rows_name}`. A fact that is not known is null."
    )
    return [f"{heading} Rows", lead, table(["field", "meaning"], rows), *answer.remarks]
