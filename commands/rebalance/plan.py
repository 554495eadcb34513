"""The next command on a plan, and the person who is asked before it is carried out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from commands.rebalance.options import tell, write_words
from commands.shared.confirm import confirm
from commands.shared.printing.terminal import print_err

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.execution.executor import Pace
    from kreplica.execution.moves.plan_state import MovePlanState
    from kreplica.execution.rebalance.plan_state import PlanState
    from kreplica.execution.rebalance.running import RebalanceOptions


def plan_line(path: Path, command: str, connection_options: str, handle: ClusterHandle | None = None) -> str:
    """Returns the command line of a subcommand on a plan.

    Args:
        path: The plan's file.
        command: The subcommand.
        connection_options: The options that name the cluster.
        handle: The cluster, for subcommands that may need a permission to write to it.
    """
    writes = write_words(handle) if handle is not None and command in ("apply", "resume") else ""
    return f"kreplica rebalance {command} {shlex.quote(str(path))} {connection_options}".rstrip() + writes


def plan_summary(state: PlanState | MovePlanState, *, executed: bool) -> dict[str, object]:
    """Facts of a plan of either kind, for the summary of an answer."""
    return {
        "plan": str(state.path),
        "plan_id": state.plan.plan_id,
        "digest": state.digest,
        "kind": state.plan.kind,
        "created_at": state.plan.created_at,
        "phase": state.progress.phase,
        "running": state.running,
        "executed": executed,
    }


class PlanRun:
    """A run of a plan from the command line: asks before the first change, and explains an interruption after that.

    Args:
        path: The plan's file.
        handle: The cluster.
        connection_options: The options that name it.
        yes: Whether to skip the confirmation.
    """

    def __init__(self, path: Path, handle: ClusterHandle, connection_options: str, *, yes: bool) -> None:
        self._again = f"{plan_line(path, 'resume', connection_options, handle)} --execute"
        self._handle, self._yes, self._begun = handle, yes, False

    def options(self, pace: Pace, *, allow_zookeeper_write: bool = False) -> RebalanceOptions:
        """Returns the options of the library, by which this run is asked and told."""
        from kreplica.execution.rebalance.running import RebalanceOptions

        return RebalanceOptions(pace, allow_zookeeper_write, self._confirm, tell)

    def _confirm(self, label: str, change: str) -> None:
        confirm(self._handle, label, change, yes=self._yes)
        self._begun = True

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Says after Ctrl-C how to go on, once the run was begun."""
        try:
            yield
        except KeyboardInterrupt:
            if self._begun:
                print_err(f"what was done is in the journal; next {self._again}")
            raise
