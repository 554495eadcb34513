"""The console script: builds the application, runs it, and turns every ending into an exit code of the contract."""

from __future__ import annotations

import contextlib
import errno
import importlib
import inspect
import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from commands.shared.groups import OwnCommand
from commands.shared.help import SectionedCommand, SectionedGroup
from commands.shared.plain_values import take_plain_values
from commands.shared.printing.output import OutputFormat, drop_stdout, print_error, print_error_object
from commands.shared.printing.terminal import pass_on, print_err, print_out
from commands.shared.repeats import RepeatAwareCommand
from kreplica.errors import ExitCode, KreplicaError, UsageError, os_reason
from kreplica.version import __version__

SECTIONS = {
    "See": ("describe", "check", "imbalance", "disks", "recommend", "compare"),
    "Before you touch it": ("safe-to-stop", "roll", "whatif", "assign"),
    "Change, and wait": ("rebalance", "wait"),
    "From a broker's disk": ("decode",),
    "Fleet": ("snapshot", "audit", "history"),
    "Set up": ("config", "sandbox", "completions"),
}
"""Commands by what they are for, in the order of the help."""

COMMANDS = tuple(name for names in SECTIONS.values() for name in names)
"""Each command; ``commands/NAME/command.py`` registers it, with ``_`` for ``-`` in the folder's name."""

GROUPS = frozenset({"audit", "rebalance", "roll", "whatif", "decode", "config", "sandbox"})
"""Commands that have subcommands: their ``register`` takes ``below`` (see commands.shared.groups)."""

LONGEST = 80
"""Characters of a name that a message repeats."""

FULL = (errno.ENOSPC, errno.EDQUOT)
BAD_NAMES = (errno.ENAMETOOLONG, errno.ELOOP)
"""Errors of the operating system about a file's name: only a name from the user can cause them."""


def build_app(words: Sequence[str] | None = None) -> typer.Typer:
    """The application.

    Args:
        words: The words after the program's name. Only the command that the first word names is built, and of a group
            only the subcommand after it; if none is named, all commands without subcommands. Importing all takes
            longer than many a command. If not given, everything is built.
    """
    take_plain_values()
    app = typer.Typer(
        name="kreplica",
        cls=_Program,
        help="See, decode and steer the replication of Apache Kafka clusters.",
        epilog="Try it without a cluster: kreplica describe --dump sample",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    app.callback()(_global_options)
    named, below = _command_names(words)
    for name in [named] if named else COMMANDS:
        more = {"below": below} if name in GROUPS else {}
        importlib.import_module(f"commands.{name.replace('-', '_')}.command").register(app, **more)
    if named == "":
        _leave_out_options(app)
    _use_our_classes(app)
    return app


def _leave_out_options(app: typer.Typer) -> None:
    """Replaces the functions of commands where nothing but the list of commands is wanted: their options take long."""
    for command in app.registered_commands:
        command.help = command.help or inspect.getdoc(command.callback)
        command.callback = _listed_only


def _listed_only() -> None:
    """A command that is only listed."""


class _Command(OwnCommand, RepeatAwareCommand, SectionedCommand):
    """A command of kreplica."""


class _Program(SectionedGroup):
    sections = SECTIONS


def _use_our_classes(app: typer.Typer) -> None:
    for command in app.registered_commands:
        command.cls = _Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _use_our_classes(group.typer_instance)


def _command_names(words: Sequence[str] | None) -> tuple[str | None, str | None]:
    """The named command, and the word after it, None without one; both empty if no command is named, None for all."""
    if words is None:
        return None, None
    said = [word for word in words if not word.startswith("-")]
    if not said or said[0] not in COMMANDS:
        return "", ""
    return said[0], said[1] if len(said) > 1 else None


def main() -> None:
    """Entry point of the console script."""
    if "_KREPLICA_COMPLETE" in os.environ:  # a shell asks for words
        from commands.completions import completer

        return completer.answer(build_app, sys.argv[1:], os.environ)
    _open_closed_streams()
    _escape_what_cannot_be_shown()
    _lose_what_stderr_does_not_take()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else numpy starts threads that nothing here uses
    sys.exit(run(sys.argv[1:]))


def _open_closed_streams() -> None:
    """Opens closed streams (``>&-``) on the null device; else the next connection would take their number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: PTH123, SIM115


def _escape_what_cannot_be_shown() -> None:
    """Escapes on stdout, as on stderr, names that are not Unicode or that the locale cannot encode."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


class _Remarks(io.TextIOWrapper):
    """Standard error that ignores failed writes (a full disk, a terminal that is gone): the exit code still counts."""

    def write(self, text: str, /) -> int:
        with contextlib.suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def _lose_what_stderr_does_not_take() -> None:
    before = sys.stderr
    if isinstance(before, io.TextIOWrapper):
        encoding, errors = before.encoding, before.errors
        sys.stderr = _Remarks(before.detach(), encoding, errors, line_buffering=True)


def run(arguments: Sequence[str]) -> int:
    """Runs one command line.

    Args:
        arguments: The words after the program's name.

    Returns:
        The exit code.
    """
    output = _requested_output(arguments)
    try:
        code = int(build_app(arguments)(list(arguments), prog_name="kreplica", standalone_mode=False) or 0)
        if code == ExitCode.INTERRUPTED:  # typer has swallowed the KeyboardInterrupt
            print_err("interrupted")
        return _flushed(code)
    except KreplicaError as error:
        print_error(error, output)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        print_err("interrupted")
        return ExitCode.INTERRUPTED
    except SystemExit:  # typer's answer to a reader of stdout that went away; nothing else here exits
        drop_stdout()
        return ExitCode.OK
    except Exception as error:
        return _failed(error, output)


def _failed(error: Exception, output: OutputFormat | None) -> ExitCode:
    if isinstance(error, OSError) and error.errno in FULL:
        return _report_full(error, output)
    if isinstance(error, OSError) and error.errno in BAD_NAMES:
        print_error(UsageError(f"cannot use {shortened(str(error.filename))}", os_reason(error)), output)
        return ExitCode.USAGE
    if hasattr(error, "format_message"):  # typer's usage errors; their base class is not public
        return _refuse(error, output)
    if isinstance(error, MemoryError):
        from kreplica.system.guard import out_of_memory

        print_error(out_of_memory(), output)
        return ExitCode.USAGE
    _report_defect(error, output)
    return ExitCode.INTERNAL


def shortened(name: str) -> str:
    """A name, cut to the length that a message can hold."""
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}…"


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        drop_stdout()
    return code


def _refuse(error: Exception, output: OutputFormat | None) -> ExitCode:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError" and context is not None:
        pass_on(context.get_help() + "\n", sys.stderr)
    else:
        from commands.shared.usage_errors import usage_error

        print_error(usage_error(error), output)
    return ExitCode.USAGE


def _report_full(error: OSError, output: OutputFormat | None) -> ExitCode:
    """Reports a full disk as an error of the user's, whichever file was to be written."""
    if not error.filename:
        drop_stdout()
    print_error(UsageError(f"cannot write {error.filename or 'the answer'}", os_reason(error)), output)
    return ExitCode.USAGE


def _requested_output(arguments: Sequence[str]) -> OutputFormat | None:
    """The form of ``-o``, read before parsing, so that an error in the options comes in that form too."""
    for index, word in enumerate(arguments):
        flag, _, value = word.partition("=")
        if flag in ("-o", "--output"):
            value = value or (arguments[index + 1] if index + 1 < len(arguments) else "")
        elif word.startswith("-o") and not word.startswith("--"):
            value = word[2:]
        else:
            continue
        return OutputFormat(value) if value in OutputFormat.__members__ else None
    return None


def _report_defect(error: Exception, output: OutputFormat | None) -> None:
    """Says where to report an exception that nobody expected."""
    from kreplica.system.guard import defect

    told = defect(error)
    print_err(f"internal error: {told}")
    print_error_object(told.kind, told.what, told.why, told.fix, told.exit_code, output)


def _print_version(wanted: bool) -> None:
    if wanted:
        print_out(f"kreplica {__version__}")
        raise typer.Exit


def _global_options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    pass
