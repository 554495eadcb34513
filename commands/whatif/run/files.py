"""Files that whatif run writes: plans to play again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from commands.shared.options.engine_settings import setting_texts
from kreplica.errors import UsageError, os_reason

if TYPE_CHECKING:
    from kreplica.engine.fault_plan import Plan
    from kreplica.engine.plans.file import PlanFile
    from kreplica.engine.plans.omissions import LeaveOut
    from kreplica.engine.settings import Value


def plan_file(
    scenario: str, kafka_version: str, settings: Mapping[str, Value], seed: int, plan: Plan, left_out: LeaveOut
) -> PlanFile:
    """The content of a plan file, by which ``--plan`` plays a run again."""
    from kreplica.engine.plans.file import PlanFile

    return PlanFile(
        scenario=scenario,
        kafka_version=kafka_version,
        settings=setting_texts(settings),
        seed=seed,
        leave_out=left_out,
        steps=plan,
    )


def write_plan(path: Path, file: PlanFile) -> None:
    """Writes a plan that ``--plan`` reads.

    Raises:
        UsageError: The file cannot be written.
    """
    from kreplica.engine.plans.file import plan_file_to_json

    write_file(path, plan_file_to_json(file))


def write_file(file: Path, content: bytes) -> None:
    """Writes a file whole or not at all.

    Raises:
        UsageError: It cannot be written.
    """
    from kreplica.system.durable_files import write_whole

    try:
        write_whole(file, content, replace=True)
    except OSError as error:
        raise UsageError(f"cannot write {file}", os_reason(error)) from None
