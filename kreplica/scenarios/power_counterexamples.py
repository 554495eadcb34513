"""Counterexamples of the models of settings in which power is lost, as plans for the scenario ``power-loss-of-all``.

A broker that expires in a counterexample does so in the run by itself, once its session is over; what a broker hears
or fetches it does at once. Only what fails and what starts again is in the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.one_partition.trace import broker_of
from kreplica.engine.explorer.settings.actions import kept_of
from kreplica.engine.explorer.settings.models import VERSIONS
from kreplica.engine.explorer.settings.state import SettingsState
from kreplica.engine.fault_plan import At, Crash, PowerLoss, Start, Step
from kreplica.engine.omissions import LeaveOut
from kreplica.engine.omissions import without as leaving_out
from kreplica.engine.plan_file import PlanFile
from kreplica.engine.settings import parse
from kreplica.engine.setup import SECOND
from kreplica.model.settings import MIN_ISR, UNCLEAN
from kreplica.scenarios.library.durability.power_loss_of_all import SCENARIO
from kreplica.scenarios.playing import Run, play

FLUSH = "flush.messages"
REPLICAS, PRODUCER = 3, "producer"
BEGIN, APART = 10 * SECOND, 2 * SECOND
"""Time of the first step that the plan has, and from one to the next."""
SESSION = 15 * SECOND
"""Time after which the controller has fenced every broker that is down: broker.session.timeout.ms is 9,000."""
_BY_THEMSELVES = ("write", "fetch", "hear", "expire", "unfence")
FLUSHING = {FLUSH: "1"}
"""The setting that keeps what a loss of power takes."""


def power_plan(model: Model, steps: Sequence[Taken]) -> PlanFile | None:
    """The plan of a counterexample; None if no release is like the model, or it has steps that a plan has not.

    Args:
        model: One of the models of settings.
        steps: The counterexample.
    """
    begins: SettingsState = model.initial
    names = {step.action.name for step in steps}
    powers = names & {"lose-power", "all-lose-power"}
    if not powers or names - powers - {"crash", "start", *_BY_THEMSELVES} or len(begins.leader) != REPLICAS:
        return None
    if model.name not in ("settings-3.9", "settings-4.1") or begins.acks_all[0] == 0 or begins.true_leader[0] != 0:
        return None
    settings = {MIN_ISR: str(begins.min_isr[0]), UNCLEAN: "true" if begins.unclean[0] else "false"}
    if begins.flush_messages[0] <= len(begins.written_in):
        settings[FLUSH] = str(begins.flush_messages[0])
    written = sum(step.action.name == "write" for step in steps)
    return PlanFile(
        scenario=SCENARIO.name,
        kafka_version=VERSIONS[model.name].name,
        settings=settings,
        leave_out=LeaveOut(records={PRODUCER: (0, written)}),
        steps=tuple(_plan_steps(steps, len(begins.written_in))),
    )


def played_without_power(file: PlanFile, others: Mapping[str, str] | None = None) -> Run:
    """The run of a plan.

    Args:
        file: The plan.
        others: Settings that win over the plan's.
    """
    settings = {name: parse(name, text) for name, text in {**file.settings, **(others or {})}.items()}
    scenario = replace(SCENARIO, setup=leaving_out(SCENARIO.setup, file.leave_out))
    return play(scenario, file.kafka_version, settings, file.seed, file.steps)


def _plan_steps(steps: Sequence[Taken], records: int) -> Iterator[Step]:
    time, failed = BEGIN, BEGIN
    for step in steps:
        name, chosen = step.action.name, step.chosen
        if name == "expire":
            time = max(time, failed + SESSION)
        elif name == "crash" or name.endswith("lose-power"):
            failed = time
            yield from _failing(name, chosen, records, time)
            time += APART
        elif name == "start":
            yield Step(At(time), Start(_node(chosen[0])))
            time += APART


def _failing(name: str, chosen: tuple[int, ...], records: int, time: int) -> Iterator[Step]:
    if name == "crash":
        yield Step(At(time), Crash(_node(chosen[0])))
        return
    if name == "lose-power":
        yield Step(At(time), PowerLoss((_node(chosen[0]),), chosen[1]))
        return
    kept = [kept_of(chosen[0], replica, records) for replica in range(REPLICAS)]
    for many, alike in groupby(range(REPLICAS), key=kept.__getitem__):
        yield Step(At(time), PowerLoss(tuple(map(_node, alike)), many))


def _node(replica: int) -> str:
    return f"broker-{broker_of(replica)}"
