"""A plan as a JSON file: written whole or not at all, read back only if it is what was written.

The file holds the plan's fields and ``digest``: SHA-256 over the rest in one canonical form (keys sorted, no blanks).
An edited plan has another digest and is refused, because what it was made from would no longer match what it does.
The journal names the digest, too, and so belongs to one plan.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import uuid
from pathlib import Path
from typing import Any

from kreplica.errors import InputError, UsageError
from kreplica.execution.plan import SCHEMA, LeaderChange, PartitionFacts, Plan

_REMAKE = "make it anew: kreplica rebalance leaders --out FILE"
_LARGEST = 1 << 30


def plan_digest(plan: Plan) -> str:
    """``sha256:`` and the hexadecimal digest of the plan in its canonical form."""
    import msgspec

    return _digest(msgspec.to_builtins(plan))


def write_plan(plan: Plan, path: Path, *, replace: bool = False) -> str:
    """Writes the plan; a crash leaves the old file or the new one, never a part.

    Args:
        plan: What to write.
        path: Where to.
        replace: Whether a file that is there is replaced.

    Returns:
        The plan's digest.

    Raises:
        UsageError: The file is there, or the place cannot be written.
    """
    import msgspec

    digest = plan_digest(plan)
    document = {**msgspec.to_builtins(plan), "digest": digest}
    content = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    try:
        _put(content, path, replace=replace)
    except FileExistsError:
        raise UsageError(f"{path} is there already", "a plan is not overwritten unasked", "give --force") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}", error.strerror or str(error)) from None
    return digest


def _put(content: bytes, path: Path, *, replace: bool) -> None:
    written = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with written.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            written.replace(path)
        else:
            _name_if_free(written, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            written.unlink()
    sync_folder(path.parent)


def _name_if_free(written: Path, path: Path) -> None:
    """Gives a file its name unless that is taken; a link fails then where a rename would replace."""
    try:
        os.link(written, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if path.exists():
            raise FileExistsError from None
        written.rename(path)


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder outlive a loss of power."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def read_plan(path: Path) -> tuple[Plan, str]:
    """Reads a plan and its digest.

    Raises:
        InputError: It cannot be read, is no plan, is damaged, was edited, or a newer kreplica made it.
    """
    document = _document(path)
    _check_schema(path, document)
    digest = document.pop("digest", None)
    if digest != _digest(document):
        raise InputError(
            str(path), "", "its digest does not match: it was edited or damaged after it was made", _REMAKE
        )
    plan = _decoded(path, document)
    _check_sense(path, plan)
    return plan, digest


def _document(path: Path) -> dict[str, Any]:
    import msgspec

    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(str(path), "", "it is larger than 1 GiB: not a plan")
        content = path.read_bytes()
        document = msgspec.json.decode(content)
    except OSError as error:
        raise InputError(str(path), "", error.strerror or str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _not_json(path, error) from None
    if not isinstance(document, dict):
        raise InputError(str(path), "", "expected a JSON object: not a plan of kreplica", _REMAKE)
    return document


def _not_json(path: Path, error: Exception) -> InputError:
    found = re.search(r"\(byte (\d+)\)", str(error))
    reason = re.sub(r"\s*\(byte \d+\)", "", str(error))
    return InputError(str(path), f"byte {found[1]}" if found else "", f"not JSON, {reason}", _REMAKE)


def _check_schema(path: Path, document: dict[str, Any]) -> None:
    schema = document.get("schema")
    if schema == SCHEMA:
        return
    if isinstance(schema, str) and re.fullmatch(r"kreplica/plan/v\d+", schema):
        raise InputError(str(path), "", f"its schema is {schema}, this kreplica reads {SCHEMA}", "use a newer kreplica")
    found = f"schema {schema!r}" if schema is not None else "no schema"
    raise InputError(str(path), "", f"expected schema {SCHEMA!r}, found {found}: not a plan of kreplica", _REMAKE)


def _decoded(path: Path, document: dict[str, Any]) -> Plan:
    """The plan; one with a field that is not known here must not be carried out without it."""
    import msgspec

    newer = "made by a newer kreplica? " + _REMAKE
    try:
        plan = msgspec.convert(document, Plan)
    except msgspec.ValidationError as error:
        raise InputError(str(path), "", str(error), newer) from None
    if _digest(msgspec.to_builtins(plan)) != _digest(document):
        raise InputError(str(path), "", "it has fields that this kreplica does not know", newer)
    return plan


def _check_sense(path: Path, plan: Plan) -> None:
    """What a digest does not promise: whoever writes a plan by a program of his own can compute that, too."""
    keys, facts = [change.key for change in plan.changes], plan.facts
    reason = ""
    if len(set(keys)) != len(keys):
        reason = "a partition is changed twice"
    elif sorted(keys) != sorted(one.key for one in plan.made_from):
        reason = "its steps and what it was made from name other partitions"
    elif [step.number for step in plan.steps] != list(range(1, len(plan.steps) + 1)):
        reason = "its steps are not numbered from 1 on"
    elif not all(_elects_the_first(change, facts[change.key]) for change in plan.changes):
        reason = "a step elects another than the first of the replicas"
    elif plan.inverse != tuple(step.inverse() for step in reversed(plan.steps)):
        reason = "its inverse does not undo its steps"
    if reason:
        raise InputError(str(path), "", reason, _REMAKE)


def _elects_the_first(change: LeaderChange, facts: PartitionFacts) -> bool:
    return facts.replicas[:1] == (change.to_leader,)


def _digest(document: object) -> str:
    import msgspec

    return "sha256:" + hashlib.sha256(msgspec.json.encode(document, order="sorted")).hexdigest()
