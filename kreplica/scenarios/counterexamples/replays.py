"""The counterexamples of a model, played: each by the plan of its kind of model, beside a run with what mends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

from msgspec.structs import replace as changed

from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.models.clients import models as client_models
from kreplica.engine.explorer.models.coordinators.memberships import models as group_models
from kreplica.engine.explorer.models.epoch_answers import models as answer_models
from kreplica.engine.fault_plan import DiskLoss
from kreplica.engine.plans.file import PlanFile
from kreplica.scenarios.counterexamples.answers import plan_of_answers
from kreplica.scenarios.counterexamples.clients.replays import replay_of_clients
from kreplica.scenarios.counterexamples.groups import replay_of_group
from kreplica.scenarios.counterexamples.kraft import MENDED, RELEASES, kraft_plan
from kreplica.scenarios.counterexamples.one_partition import FLAWED, replay_of_one_partition
from kreplica.scenarios.counterexamples.replay import Replay
from kreplica.scenarios.counterexamples.settings import (
    hearing_at_once,
    keeping_logs,
    loses_eligibility,
    mendings,
    settings_plans,
)
from kreplica.scenarios.library.durability.power_loss_of_all import SCENARIO as POWER_LOSS
from kreplica.scenarios.library.truncation.stale_fenced_answer import SCENARIO as STALE_ANSWER
from kreplica.scenarios.playing import Run, play_file

KEEPS_ELR = "4.3"
"""The release in which a broker with a new disk takes no ELR away any more."""
SEEDS = 6
"""Seeds that are tried where a disk is lost."""


def replays_of(model: Model, counterexamples: Mapping[str, Sequence[Taken]]) -> dict[str, Replay]:
    """The counterexamples that can be played, by invariant.

    Args:
        model: Their model.
        counterexamples: Steps by the invariant that they lead to a breach of.
    """
    played = [each for each in model.invariants if each.name in counterexamples]
    found = {each.name: _replay(model, each.name, counterexamples[each.name]) for each in played}
    return {invariant: one for invariant, one in found.items() if one is not None}


def _replay(model: Model, invariant: str, steps: Sequence[Taken]) -> Replay | None:
    if model.name in FLAWED:
        return replay_of_one_partition(model, invariant, steps)
    if model.name in client_models.TABLES:
        return replay_of_clients(model, invariant, steps)
    if model.name in RELEASES:
        return replay_of_kraft(model, steps)
    if model.name in group_models.TABLES:
        return replay_of_group(model, invariant, steps)
    return replay_of_answers(model, steps) if model.name in answer_models.TABLES else replay_of_settings(model, steps)


def replay_of_answers(model: Model, steps: Sequence[Taken]) -> Replay | None:
    """The plan of answers that come late, and what it comes to; None if the run is safe.

    Args:
        model: The model.
        steps: The counterexample.
    """
    file = plan_of_answers(model, steps)
    if file is None:
        return None
    run = play_file(STALE_ANSWER, file)
    if run.outcome.is_safe:
        return None
    mended = play_file(STALE_ANSWER, file, "2.1.1")
    return Replay(file, run, mended, "its brokers are one number higher; broker 1 controls")


def replay_of_kraft(model: Model, steps: Sequence[Taken]) -> Replay | None:
    """The plan of a counterexample of a KRaft cluster, and what it comes to; None if the run is safe.

    Args:
        model: The model.
        steps: The counterexample.
    """
    file = kraft_plan(model, steps)
    plans = [_Played(each) for each in _seeded(file)] if file is not None else []
    found = (one.in_release(MENDED) or one.mended() for one in plans)
    return next((one for one in found if one is not None), None)


def replay_of_settings(model: Model, steps: Sequence[Taken]) -> Replay | None:
    """The plan of a counterexample of settings, and what it comes to; None if there is none, or nothing mends it.

    Args:
        model: The model.
        steps: The counterexample.
    """
    plans = [_Played(seeded) for file in settings_plans(model, steps) for seeded in _seeded(file)]
    later = (one.in_release(KEEPS_ELR) for one in plans if loses_eligibility(steps))
    found = chain(later, (one.mended() for one in plans))
    return next((one for one in found if one is not None), None)


def _seeded(file: PlanFile) -> Iterator[PlanFile]:
    """The plan by the first seed; by others, too, where a disk is lost: whether its broker is elected goes by them."""
    chance = any(isinstance(step.do, DiskLoss) for step in file.steps)
    yield from (changed(file, seed=file.seed + number) for number in range(SEEDS if chance else 1))


class _Played:
    """A plan, which is played once, and what mends it."""

    def __init__(self, file: PlanFile) -> None:
        self._file = file
        self._where = f"{'two' if file.leave_out.brokers else 'three'} brokers, and controllers that go on"

    @cached_property
    def _run(self) -> Run | None:
        """Its run; None if that is safe."""
        run = play_file(POWER_LOSS, self._file)
        return None if run.outcome.is_safe else run

    def in_release(self, release: str) -> Replay | None:
        """The run, and that of a release that mends it; None if the first is safe, or the other is not."""
        if self._run is None:
            return None
        mended = play_file(POWER_LOSS, self._file, release)
        return Replay(self._file, self._run, mended, self._where) if mended.outcome.is_safe else None

    def mended(self) -> Replay | None:
        """The run, and that of what mends it: a setting, or fewer faults; None if it is safe, or nothing does."""
        if self._run is None:
            return None
        for mends in mendings(self._file):
            mended = play_file(POWER_LOSS, self._file, others=mends)
            if mended.outcome.is_safe:
                return Replay(self._file, self._run, mended, self._where, mends)
        others = {"logs kept": keeping_logs(self._file), "decisions heard at once": hearing_at_once(self._file)}
        for words, other in others.items():
            mended = play_file(POWER_LOSS, other)
            if mended.outcome.is_safe:
                return Replay(self._file, self._run, mended, self._where, otherwise=[words])
        return None
