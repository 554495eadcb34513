"""A counterexample of ``whatif prove``, played as faults of a run, beside a run in which what it breaks is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kreplica.engine.plans.file import PlanFile
from kreplica.scenarios.playing import Run


@dataclass(frozen=True, slots=True)
class Replay:
    """A counterexample, played.

    Args:
        file: Its plan.
        run: The plan played under the release, or with the settings, that have the flaw.
        mended: The same under the release, or with the setting, that mends it.
        where: The cluster in words.
        mends: The settings that mend it, as text.
        otherwise: What else is different where it is mended, in words.
    """

    file: PlanFile
    run: Run
    mended: Run
    where: str = "broker 4 is the controller"
    mends: Mapping[str, str] = field(default_factory=dict)
    otherwise: Sequence[str] = ()

    @property
    def names(self) -> tuple[str, str]:
        """Names of both runs: their releases, with what mends it."""
        others = [f"{name}={value}" for name, value in self.mends.items()]
        return self.run.version.name, ", ".join([self.mended.version.name, *others, *self.otherwise])
