"""The file of a plan: its steps, and everything else that a run needs to have the same result again.

A list of steps alone is a plan, too: written by hand, it is played on the requested scenario.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from kreplica.engine.fault_plan import Step, plan_from_json
from kreplica.engine.plans.omissions import LeaveOut
from kreplica.errors import UsageError
from kreplica.system.untrusted_files import MalformedError, decode_json

SCHEMA = "kreplica/faults/v1"


class PlanFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Contents of a plan's file.

    Args:
        schema: SCHEMA.
        scenario: The scenario it is for; empty for any.
        kafka_version: The version it was played with; empty for the scenario's own.
        settings: Settings as ``--set`` takes them.
        seed: Seed of the run.
        leave_out: Parts left out of the scenario's cluster and clients.
        steps: The plan.
    """

    schema: str = SCHEMA
    scenario: str = ""
    kafka_version: str = ""
    settings: dict[str, str] = {}
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    leave_out: LeaveOut = LeaveOut()
    steps: tuple[Step, ...]


class _Head(msgspec.Struct):
    schema: str = ""


def plan_file_to_json(file: PlanFile) -> bytes:
    """Returns the file's content, indented, with a line break at its end."""
    return msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n"


def plan_file_from_json(content: bytes, source: str) -> PlanFile:
    """Reads a plan's file, or a list of steps.

    Args:
        content: Content of the file.
        source: Name of the file, for the error.

    Raises:
        UsageError: It is no plan, or one of another schema; the message names the place.
    """
    if not content.lstrip().startswith(b"{"):
        return PlanFile(steps=plan_from_json(content, source))
    try:
        schema = decode_json(content, _Head).schema
        if schema != SCHEMA:
            told = f"its schema is {schema}" if schema else "it names no schema"
            raise UsageError(f"{source} cannot be played", told, f"give a plan of schema {SCHEMA}, by --save-plan")
        found: PlanFile = decode_json(content, PlanFile)
    except MalformedError as error:
        raise UsageError(f"{source} is no plan of faults", str(error), "give a file written by --save-plan") from None
    return found
