"""Losses of power in the models of settings, against an enumeration of its own and the stories on paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from random import Random
from typing import NamedTuple

import pytest

from kreplica.engine.explorer.model import Action, Invariant, Model, successors
from kreplica.engine.explorer.models.settings import actions
from kreplica.engine.explorer.models.settings.models import VERSIONS, model_of
from kreplica.engine.explorer.models.settings.state import SettingsBounds, SettingsState, log_end
from kreplica.engine.explorer.models.settings.trace import told
from kreplica.engine.explorer.plain_search import search
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.replication.durability import RecoveryPoint
from kreplica.engine.versions.version import NEVER

PLENTY = 2**30
WITHOUT_ELR, _, WITH_ELR, _, MENDED = VERSIONS
TWO = SettingsBounds(2, 1, ACKS_ALL, 2, False, 1, 0, 0, cut_offs=0)
ONE_BROKER, BOTH = TWO._replace(power_losses=1), TWO._replace(power_losses_of_all=1)


def steps_to_loss(model: Model) -> int | None:
    found = search(model, model.invariants, PLENTY)
    assert found.broken or found.complete
    return len(found.broken["acknowledged-kept"]) - 1 if found.broken else None


# -- an enumeration of its own: two brokers, one record, everybody hears at once


class Cluster(NamedTuple):
    """Brokers 0 and 1, by the words of KIP-966 and of Kafka's documentation on flushing, without the engine's rules."""

    has: frozenset[int] = frozenset()
    flushed: frozenset[int] = frozenset()
    up: frozenset[int] = frozenset({0, 1})
    active: frozenset[int] = frozenset({0, 1})
    isr: frozenset[int] = frozenset({0, 1})
    elr: frozenset[int] = frozenset()
    leader: int | None = 0
    last_leader: int | None = None
    written: bool = False
    acknowledged: bool = False
    faults: int = 0


def elected(one: Cluster, unclean: bool, elr: bool) -> Cluster:
    """The cluster with a leader, if it has none that is active and one may lead."""
    if one.leader in one.active and one.leader in one.isr:
        return one
    last = one.leader if one.leader is not None else one.last_leader
    for group in (one.isr, one.elr if elr and not one.isr else frozenset()):
        for broker in sorted(group & one.active):
            return one._replace(leader=broker, isr=one.isr or frozenset({broker}), elr=one.elr - {broker})
    if elr and not one.isr and not one.elr and last in one.active:
        return one._replace(leader=last, isr=frozenset({last}), last_leader=last)
    for broker in sorted(one.active if unclean else ()):
        return one._replace(leader=broker, isr=frozenset({broker}), elr=frozenset())
    return one._replace(leader=None, last_leader=last)


def left(one: Cluster, broker: int, bounds: SettingsBounds, elr: bool, restarted: bool) -> Cluster:
    """The cluster once a broker has left the ISR, and the ELR if it comes back from a crash."""
    isr = one.isr - {broker}
    if not elr:
        return elected(one._replace(isr=isr or one.isr), bounds.unclean, elr)
    eligible = (one.elr | one.isr) - isr - ({broker} if restarted else frozenset())
    others = eligible if len(isr) < bounds.min_isr else frozenset()
    return elected(one._replace(isr=isr, elr=others), bounds.unclean, elr)


def powerless(one: Cluster, brokers: frozenset[int]) -> Iterator[Cluster]:
    """The cluster without power on some brokers: of what was not flushed each disk has all or nothing."""
    for kept in product((False, True), repeat=2):
        on_disk = one.flushed | {broker for broker in one.has if kept[broker]}
        has = (one.has - brokers) | (one.has & brokers & on_disk)
        flushed = (one.flushed - brokers) | (has & brokers)
        yield one._replace(has=has, flushed=flushed, up=one.up - brokers, faults=one.faults + 1)


def following(one: Cluster, bounds: SettingsBounds, elr: bool) -> Iterator[Cluster]:
    """Every cluster that can come next."""
    leads, flush = one.leader if one.leader in one.up else None, bounds.flush_messages == 1
    in_sync = len(one.isr) >= bounds.min_isr
    if leads is not None and not one.written and in_sync:
        yield one._replace(written=True, has=one.has | {leads}, flushed=one.flushed | ({leads} if flush else set()))
    if leads is not None and leads in one.has and in_sync and one.isr <= one.has:
        yield one._replace(acknowledged=True)
    for broker in (0, 1):
        if leads is not None and broker != leads and broker in one.up:
            same = one.has | {broker} if leads in one.has else one.has - {broker}
            disk = one.flushed | {broker} if flush and leads in one.has else one.flushed & same
            yield one._replace(has=same, flushed=disk)
            if broker in one.active and (broker in one.has) == (leads in one.has):
                isr = one.isr | {broker}
                yield one._replace(isr=isr, elr=one.elr - isr if len(isr) < bounds.min_isr else frozenset())
        if leads is not None and broker != leads and broker in one.isr and broker not in one.up:
            yield left(one, broker, bounds, elr, False)
        if broker not in one.up and broker in one.active:
            yield left(one._replace(active=one.active - {broker}), broker, bounds, elr, False)
        if broker not in one.up | one.active:
            back = one._replace(up=one.up | {broker})
            yield left(back, broker, bounds, elr, True) if elr else back
        if broker in one.up - one.active:
            yield elected(one._replace(active=one.active | {broker}), bounds.unclean, elr)
        if one.faults < bounds.power_losses and broker in one.up:
            yield from powerless(one, frozenset({broker}))
    if one.leader == 1 and 0 in one.isr & one.active:
        yield one._replace(leader=0)
    if one.faults < bounds.power_losses_of_all:
        yield from powerless(one, frozenset({0, 1}))


def enumeration_loses(bounds: SettingsBounds, elr: bool) -> bool:
    begins = [Cluster(), Cluster(leader=1)]
    seen = set(begins)
    for one in begins:
        if one.acknowledged and one.leader in one.up and one.leader not in one.has:
            return True
        new = set(following(one, bounds, elr)) - seen
        seen |= new
        begins += sorted(new, key=repr)
    return False


def of_two_brokers() -> Iterator[SettingsBounds]:
    for min_isr, unclean, flush, faults in product((1, 2), (False, True), (NEVER, 1), (1, 2)):
        bounds = TWO._replace(min_isr=min_isr, unclean=unclean, flush_messages=flush, faults=faults)
        yield bounds._replace(power_losses=faults)
        yield bounds._replace(power_losses_of_all=faults)


@pytest.mark.one_python
@pytest.mark.parametrize("name", [WITHOUT_ELR, WITH_ELR])
def test_two_brokers_lose_where_an_enumeration_of_its_own_does(name: str) -> None:
    verdicts = list[bool]()
    for bounds in of_two_brokers():
        lost = enumeration_loses(bounds, name == WITH_ELR)
        assert (steps_to_loss(model_of(name, bounds)) is not None) == lost, bounds
        verdicts.append(lost)
    assert min(verdicts.count(True), verdicts.count(False)) > 5


# -- stories on paper


STORIES = {
    # written, fetched and told by a second fetch; the power fails; both expire, the last member comes back, leads
    (WITHOUT_ELR, BOTH): 9,
    # the same, but both have to come back: neither is in the ELR, and the last leader leads
    (WITH_ELR, BOTH): 10,
    # what is on the disks before it is acknowledged stays there
    (WITHOUT_ELR, BOTH._replace(flush_messages=1)): None,
    (WITH_ELR, BOTH._replace(flush_messages=1)): None,
    # one record is not two
    (WITHOUT_ELR, BOTH._replace(flush_messages=2)): 9,
    # the other has it in its page cache
    (WITHOUT_ELR, ONE_BROKER): None,
    # a leader that nobody fetched from: written, the power fails, it expires, the other hears that it leads
    (WITH_ELR, ONE_BROKER._replace(acks=1, first_leader=1)): 4,
    # flushing does not help there
    (WITH_ELR, ONE_BROKER._replace(acks=1, first_leader=1, flush_messages=1)): 4,
    # from another leader none has to fail: written, the preferred leader is elected and hears of it
    (WITH_ELR, ONE_BROKER._replace(acks=1, first_leader=2)): 3,
}


@pytest.mark.parametrize(("case", "steps"), STORIES.items())
def test_the_shortest_loss_is_the_story_on_paper(case: tuple[str, SettingsBounds], steps: int | None) -> None:
    assert steps_to_loss(model_of(*case)) == steps


def test_a_process_that_was_killed_before_loses_its_page_cache_with_the_machine() -> None:
    """Killed alone it keeps all; the power of all fails while it is down."""
    bounds = BOTH._replace(faults=2, stops=1)
    model = model_of(WITHOUT_ELR, bounds)
    state = model.initial
    for action, chosen in (("write", (0,)), ("fetch", (1,)), ("crash", (1,))):
        state = taken(model, state, action, chosen)
    assert [log_end(state, replica) for replica in (0, 1)] == [1, 1]
    lost = taken(model, state, "all-lose-power", (1,))
    assert [log_end(lost, replica) for replica in (0, 1)] == [1, 0]
    step = next(one for one in successors(model, state) if (one.action.name, one.chosen) == ("all-lose-power", (1,)))
    words = "all machines lose power; of what was not flushed the disks have 1 record of broker 1"
    assert told(state, step) == words


def taken(model: Model, state: SettingsState, action: str, chosen: tuple[int, ...]) -> SettingsState:
    found: SettingsState = next(
        one.state for one in successors(model, state) if (one.action.name, one.chosen) == (action, chosen)
    )
    return found


# -- a disk that writes at any time


def with_a_disk_that_writes(model: Model, bounds: SettingsBounds) -> Model:
    """The model with a step in which a disk gets one more record; a loss of power then takes all that it has not."""

    def writes(state: SettingsState, replica: int) -> bool:
        if state.flushed[replica] == log_end(state, replica):
            return False
        state.flushed[replica] += 1
        return True

    def nothing_more(take: Callable[..., bool]) -> Callable[..., bool]:
        return lambda state, *chosen: chosen[-1] == 0 and take(state, *chosen)

    found = [
        replace(each, take=nothing_more(each.take)) if each.name.endswith("lose-power") else each
        for each in model.actions
    ]
    disk = Action("flush", writes, (bounds.replicas,), "the disk of broker {0} gets a record", (1,))
    return replace(model, actions=(*found, disk))


@pytest.mark.one_python
def test_any_number_of_records_is_kept_that_a_disk_may_have_by_then() -> None:
    """A free step that flushes finds the same losses, by as many steps more as records are to be on a disk."""
    every = [
        BOTH,
        ONE_BROKER,
        BOTH._replace(min_isr=1, records=2),
        BOTH._replace(faults=2, power_losses=1, unclean=True),
    ]
    for name, bounds in product((WITHOUT_ELR, WITH_ELR), every):
        model = model_of(name, bounds)
        plain, free = steps_to_loss(model), steps_to_loss(with_a_disk_that_writes(model, bounds))
        assert (plain is None) == (free is None)
        assert plain is None or plain <= (free or 0) <= plain + bounds.replicas * bounds.records


# -- what is on the disk


def test_walks_keep_the_flush_point_within_the_log() -> None:
    """What flush.messages=1 flushes is all; what is killed is whole; what loses power has a prefix that was flushed."""
    ends = dict.fromkeys(("crash", "lose-power", "all-lose-power"), 0)
    for seed, flush in product(range(30), (1, 2, NEVER)):
        chance = Random(seed)
        bounds = SettingsBounds(3, 2, ACKS_ALL, 1, True, 4, 0, 2, 0, 2, 2, 1, flush)
        model = model_of(chance.choice((WITHOUT_ELR, WITH_ELR)), bounds)
        state = chance.choice(model.beginnings)
        for _ in range(60):
            possible = list(successors(model, state))
            if not possible:
                break
            step = chance.choice(possible)
            for replica in range(3):
                end, flushed, before = (
                    log_end(step.state, replica),
                    step.state.flushed[replica],
                    log_end(state, replica),
                )
                assert flushed <= end
                assert flush != 1 or flushed == end
                if step.action.name == "crash":
                    assert end == before
                if step.action.name == "all-lose-power":
                    assert state.flushed[replica] <= end <= before
            if step.action.name in ends:
                ends[step.action.name] += 1
            state = step.state
    assert min(ends.values()) > 20


# -- recovery points


def states_of(model: Model) -> int:
    return search(model, [Invariant("anything", lambda _: True, "")], PLENTY).distinct


def with_recovery_points(monkeypatch: pytest.MonkeyPatch, rule: RecoveryPoint) -> None:
    version = replace(VERSIONS[WITHOUT_ELR], recovered_point=rule)
    monkeypatch.setitem(VERSIONS, WITHOUT_ELR, version)


def test_a_broker_that_is_back_flushes_as_its_release_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """flush.messages=2, and a killed broker has read a record: up to 2.7 it counts as flushed, the next is alone."""
    bounds = TWO._replace(records=2, stops=1, flush_messages=2, min_isr=1)
    steps = (("write", 0), ("crash", 0), ("expire", 0), ("start", 0), ("unfence", 0), ("hear", 0), ("write", 0))
    ends = dict[RecoveryPoint, tuple[int, int]]()
    for rule in RecoveryPoint:
        with_recovery_points(monkeypatch, rule)
        model = model_of(WITHOUT_ELR, bounds._replace(replicas=1, first_leader=1))
        state = model.initial
        for action, broker in steps:
            state = taken(model, state, action, (broker,))
        ends[rule] = (log_end(state, 0), state.flushed[0])
    assert ends == {RecoveryPoint.KEPT: (2, 2), RecoveryPoint.RAISED: (2, 0), RecoveryPoint.LOWERED: (2, 2)}


@pytest.mark.one_python
def test_no_verdict_depends_on_the_recovery_points_of_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """flush.messages=1 leaves nothing to recover, and more leaves a record to lose whatever a broker counts."""
    verdicts, counted = list[list[int | None]](), list[int]()
    bounds = TWO._replace(records=2, first_leader=1)
    for rule in (RecoveryPoint.RAISED, RecoveryPoint.LOWERED):
        with_recovery_points(monkeypatch, rule)
        killed = bounds._replace(faults=2, stops=1, power_losses_of_all=1)
        models = [model_of(WITHOUT_ELR, killed._replace(flush_messages=flush)) for flush in (1, 2, NEVER)]
        verdicts.append([steps_to_loss(model) for model in models])
        counted.append(states_of(model_of(WITHOUT_ELR, bounds._replace(power_losses=1, flush_messages=2))))
    assert verdicts[0] == verdicts[1]
    assert [steps is None for steps in verdicts[0]] == [True, False, False]
    assert counted[0] != counted[1]


def test_the_releases_of_the_models_lower_recovery_points() -> None:
    """KAFKA-10101, in 2.8: before every release that has KRaft."""
    assert {version.recovered_point for version in VERSIONS.values()} == {RecoveryPoint.LOWERED}


@pytest.mark.parametrize("mutant", ["followers do not flush", "kills take the page cache", "the page cache stays"])
def test_a_rule_that_is_another_changes_a_verdict(monkeypatch: pytest.MonkeyPatch, mutant: str) -> None:
    append, ends = actions.append, actions.ends

    def unflushed(state: SettingsState, replica: int, record: int) -> None:
        append(state, replica, record)
        if state.leader[replica] != replica:
            state.flushed[replica] = 0

    def taking_all(state: SettingsState, replica: int) -> None:
        actions.loses_page_cache(state, replica, 0)
        ends(state, replica)

    changed: dict[str, tuple[str, object, SettingsBounds]] = {
        "followers do not flush": ("append", unflushed, BOTH._replace(flush_messages=1)),
        "kills take the page cache": ("ends", taking_all, TWO._replace(faults=2, stops=2)),
        "the page cache stays": ("loses_page_cache", lambda *_: None, BOTH),
    }
    name, rule, bounds = changed[mutant]
    before = steps_to_loss(model_of(WITHOUT_ELR, bounds))
    monkeypatch.setattr(actions, name, rule)
    assert (steps_to_loss(model_of(WITHOUT_ELR, bounds)) is None) != (before is None)
