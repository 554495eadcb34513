"""Every error kreplica raises for a reason a user can act on, each class with the exit code of the contract.

    KreplicaError
    ├── UsageError            2   an option, a path or a combination that cannot be used
    │   ├── ConfigurationError    2   the contexts file, client properties, a secret
    │   ├── MissingExtraError     2   an optional package is not installed
    │   └── InputError            2   a dump that cannot be read: file, position, expected, found
    ├── UnreachableError      3   no answer from the cluster
    │   └── AuthenticationError   3   the cluster answered: not with these credentials
    ├── ChangeRefusedError    4   a change was refused, or only partly made
    └── SandboxError          2   the practice cluster could not be started or steered

An error has three parts, printed as ``error: what; why; what to do``. Anything that is not a KreplicaError is a
defect of kreplica: exit code 70 (EX_SOFTWARE of sysexits.h).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import ClassVar


def as_clause(sentence: str) -> str:
    """A library's sentence as part of a message: its first letter small, unless it is that of an abbreviation."""
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]


def os_reason(error: OSError) -> str:
    """The system's reason for an error, as part of a message: ``no such file or directory``."""
    return as_clause(error.strerror or str(error))


class ExitCode(IntEnum):
    """The exit codes every command keeps to."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    UNREACHABLE = 3
    CHANGE_REFUSED = 4
    INCOMPLETE = 5
    INTERNAL = 70
    INTERRUPTED = 130


class NoJudgement:
    """Base of answers that judge nothing: they end well, and lack nothing."""

    __slots__ = ()

    @property
    def exit_code(self) -> ExitCode:
        """Always 0."""
        return ExitCode.OK

    @property
    def warnings(self) -> list[str]:
        """Always empty."""
        return []


class KreplicaError(Exception):
    """Base of all expected errors.

    Args:
        what: What went wrong, in lower case, naming the thing that is wrong.
        why: The reason as far as it is known; may be empty.
        fix: What the user can do next; may be empty.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.USAGE
    kind: ClassVar[str] = "error"
    may_pass: ClassVar[bool] = True
    """True if asking again may help, for commands that wait."""

    def __init__(self, what: str, why: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        return "; ".join(part for part in (self.what, self.why, self.fix) if part)

    def __reduce__(self) -> tuple[object, ...]:
        # Unpickling would call the class with the arguments of Exception, which subclasses do not take.
        return _made_again, (type(self), self.args), self.__dict__


def worst_of(errors: Sequence[KreplicaError]) -> KreplicaError:
    """The error that decides where nothing worked: of the highest exit code, then one that asking again cannot mend."""
    return max(errors, key=lambda error: (error.exit_code, not error.may_pass))


def _made_again(kind: type[KreplicaError], arguments: tuple[object, ...]) -> KreplicaError:
    """An error that comes from another process, before its fields are filled in."""
    return kind.__new__(kind, *arguments)


class UsageError(KreplicaError):
    """An option, a path or a combination of them that cannot be used."""

    kind = "usage"


class ConfigurationError(UsageError):
    """The contexts file, a client properties file or a secret cannot be used."""

    kind = "configuration"


class MissingExtraError(UsageError):
    """A command needs an optional package that is not installed."""

    kind = "missing-extra"


class InputError(UsageError):
    """A dump or file that cannot be read.

    Args:
        source: File name or ``<stdin>``.
        position: ``line 12`` or ``byte 4096``; empty when the whole file is meant.
        reason: What was expected and what was found.
        fix: What the user can do next.
    """

    kind = "input"

    def __init__(self, source: str, position: str, reason: str, fix: str = "") -> None:
        where = f"{source}, {position}" if position else source
        super().__init__(f"cannot read {where}", reason, fix)
        self.source = source
        self.position = position


class UnreachableError(KreplicaError):
    """The cluster did not answer within the deadline."""

    exit_code = ExitCode.UNREACHABLE
    kind = "unreachable"


class AuthenticationError(UnreachableError):
    """The cluster refused the credentials."""

    kind = "authentication"
    may_pass = False  # and every try is a failed login in somebody's log, or locks the account


class ChangeRefusedError(KreplicaError):
    """A change was refused, or only a part of it was made."""

    exit_code = ExitCode.CHANGE_REFUSED
    kind = "change-refused"


class SandboxError(KreplicaError):
    """The practice cluster could not be started or steered."""

    kind = "sandbox"
