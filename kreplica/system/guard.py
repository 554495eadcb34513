"""The one guard around each of many clusters or files: one that fails never stops the others.

What fails is returned, to be reported by its name: an error of the user's as it is, anything else as a defect, whose
traceback is kept in a file. Where only one was asked for nothing is guarded: its error is raised.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import ClassVar, TypeVar

from kreplica.errors import ExitCode, KreplicaError

Result = TypeVar("Result")


class DefectError(KreplicaError):
    """Something went wrong that is neither the user's nor the cluster's fault."""

    exit_code: ClassVar[ExitCode] = ExitCode.INTERNAL
    kind = "internal"


def attempt(call: Callable[[], Result]) -> Result | KreplicaError:
    """The result of a call, or why it failed.

    Args:
        call: Reads, judges or writes one of many.
    """
    try:
        return call()
    except KreplicaError as error:
        return error
    except MemoryError:
        return out_of_memory()
    except Exception as error:
        return defect(error)


def out_of_memory() -> KreplicaError:
    """Makes the error for the user when the machine, or one of its limits, gives no more memory."""
    return KreplicaError("there is not enough memory", "", "read less at once, or where there is more (ulimit -v)")


def defect(error: Exception) -> DefectError:
    """Makes the error for an unexpected exception; its traceback goes into a file, without secrets."""
    from kreplica.system.redaction import without_secrets
    from kreplica.version import __version__

    with tempfile.NamedTemporaryFile(
        "w", prefix="kreplica-defect-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
    ) as file:
        happened = without_secrets("".join(traceback.format_exception(error)))
        file.write(f"kreplica {__version__}, Python {sys.version}, {sys.platform}\n{happened}")
    look = "after a look for names you would not share"
    return DefectError(
        without_secrets(" ".join(f"{type(error).__name__}: {error}".splitlines())),
        "this is a defect of kreplica, not of your cluster",
        f"please report it as an issue of the kreplica project with {file.name}, {look}",
    )
