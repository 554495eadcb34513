"""The models of settings lose where counting copies says so, in as many steps as the shortest story on paper has."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from kreplica.engine.explorer.compiled import search as compiled_search
from kreplica.engine.explorer.explored import Explored
from kreplica.engine.explorer.model import Invariant, Model, Taken, successors
from kreplica.engine.explorer.models.one_partition.state import log_end as seen_log_end
from kreplica.engine.explorer.models.settings.actions import agreed_end, directory_assigned
from kreplica.engine.explorer.models.settings.models import RELEASES, VERSIONS, model_of
from kreplica.engine.explorer.models.settings.state import SettingsBounds, SettingsState, log_end
from kreplica.engine.explorer.models.settings.trace import events_of, seen
from kreplica.engine.explorer.packing import words_of
from kreplica.engine.explorer.plain_search import search
from kreplica.engine.plans.file import plan_file_from_json
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.replication.log_truncation import truncate_by_leader_epoch
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.kraft.decisions import Circumstances
from kreplica.engine.simulator.kraft.decisions import directory_assigned as simulated
from kreplica.engine.trace import Kind
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import NEVER
from kreplica.report.log_strips import log_strips
from kreplica.scenarios.library.durability.power_loss_of_all import SCENARIO
from kreplica.scenarios.playing import play_file

PLENTY = 2**30
ROOT = Path(__file__).parents[5]
WITHOUT_ELR, FORGETFUL, WITH_ELR, FORGETFUL_MENDED, MENDED = VERSIONS
"""The forgetful have ELRs that a broker with a new disk takes away, as it tells its log directory."""


def loses(name: str, bounds: SettingsBounds) -> bool:
    """Whether a record can be lost within three faults, by counting its copies.

    With acks=1 it is on one replica. With acks=all every replica has to fail, or to leave the ISR before it has the
    record, which is then on as many as min ISR says. Those lose their logs, or an unclean election passes them over:
    it may do so where a replica left before. The last member of an ISR that cannot become empty leads again without
    its log; with ELR that takes as many unclean shutdowns as min ISR says (KIP-966), unless an election is unclean, or
    (up to 4.2) the new disk takes the ELR away.
    Without any of these a leader that has missed another's epoch commits what a third replica has cut: `MISSED_EPOCH`
    has how. It takes one more fault if those two are too few for min ISR, and one more from the preferred leader.
    """
    if bounds.acks == 1:
        return bounds.faults > 0
    if VERSIONS[name].positions_outlive_leaders and bounds.replicas >= 3:
        needed = 2 if bounds.min_isr < bounds.replicas else 3
        if bounds.faults >= needed + (bounds.first_leader == 1):
            return True
    if bounds.faults < bounds.replicas:
        return False
    if bounds.unclean:
        return bounds.losses > 0 or bounds.min_isr < bounds.replicas
    crashes = min(bounds.faults, bounds.losses + bounds.stops)
    keeps_eligible = VERSIONS[name].elr and VERSIONS[name].assigned_keep_elr
    return bounds.losses > 0 and crashes >= (bounds.min_isr if keeps_eligible else 1)


def of_two_replicas() -> Iterator[tuple[str, SettingsBounds]]:
    for name, min_isr, unclean in product((WITHOUT_ELR, FORGETFUL, WITH_ELR), (1, 2), (False, True)):
        for budget in ((1, 1, 1), (2, 0, 0), (2, 0, 2), (2, 1, 0), (2, 1, 1), (2, 2, 0)):
            yield name, SettingsBounds(2, 1, ACKS_ALL, min_isr, unclean, *budget, cut_offs=budget[0])


@cache
def explored(name: str, bounds: SettingsBounds) -> Explored:
    model = model_of(name, bounds)
    return search(model, model.invariants, PLENTY)


def steps_to_loss(name: str, bounds: SettingsBounds) -> int | None:
    found = explored(name, bounds)
    assert found.broken or found.complete
    return len(found.broken["acknowledged-kept"]) - 1 if found.broken else None


TWO_REPLICAS = pytest.mark.xdist_group("settings of two replicas")
"""Of tests that search the same models: in one process, each is searched once."""


@TWO_REPLICAS
@pytest.mark.one_python
def test_every_setting_of_two_replicas_loses_where_counting_copies_says_so() -> None:
    for name, bounds in of_two_replicas():
        assert (steps_to_loss(name, bounds) is not None) == loses(name, bounds), (name, bounds)


STORIES = {
    # a record is written, the leader is fenced, the next hears that it leads
    (WITH_ELR, SettingsBounds(3, 1, 1, 2, False, 1, 0, 0)): 3,
    # both followers leave the ISR, a record is written, the leader is fenced, another hears that it leads
    (WITHOUT_ELR, SettingsBounds(3, 1, ACKS_ALL, 1, True, 3, 0, 0)): 5,
    # the follower leaves the ISR, a record is written, the leader loses its log, expires, starts, is active, leads
    (WITH_ELR, SettingsBounds(2, 1, ACKS_ALL, 1, False, 2, 1, 0)): 7,
    # a record is written, fetched, and told by a second fetch; the leader is fenced, the other loses its log and so on
    (WITHOUT_ELR, SettingsBounds(2, 1, ACKS_ALL, 2, False, 2, 1, 0)): 9,
    # the same: the first would lead, but is no longer eligible when the other has told the directory on its new disk
    (FORGETFUL, SettingsBounds(2, 1, ACKS_ALL, 2, False, 2, 1, 0)): 10,
    (WITH_ELR, SettingsBounds(2, 1, ACKS_ALL, 2, False, 2, 1, 0)): None,
    # a record is written, fetched and told; both crash, expire and start, and the last leader leads without its log
    (WITH_ELR, SettingsBounds(2, 1, ACKS_ALL, 2, False, 2, 1, 1)): 11,
}


@pytest.mark.one_python
@pytest.mark.parametrize(("case", "steps"), STORIES.items())
def test_the_shortest_loss_is_the_story_on_paper(case: tuple[str, SettingsBounds], steps: int | None) -> None:
    assert steps_to_loss(*case) == steps


OTHER_LEADER = (("cut-off", 0), ("hear", 0), ("hear", 1), ("hear", 2), ("unfence", 0), ("fetch", 0))
"""Broker 2 leads in place of broker 1, and all three are in sync."""
MISSED_EPOCH = (
    # broker 3 has the record, and broker 2 knows it
    *(("write", 1), ("fetch", 2), ("fetch", 2)),
    # broker 1 leads, and broker 3 cuts its log
    *(("elect-preferred", 0), ("hear", 0), ("hear", 2), ("fetch", 2)),
    # broker 2 leads again and commits; broker 3 leads without the record
    *(("cut-off", 0), ("hear", 1), ("cut-off", 1), ("hear", 2)),
)
"""From a state in which broker 2 leads, which is not the preferred one."""
TWO_FAULTS = SettingsBounds(3, 1, ACKS_ALL, 2, False, 2, 0, 0)
THREE_FAULTS = SettingsBounds(3, 1, ACKS_ALL, 2, False, 3, 0, 0, first_leader=1)
GAPS = ((TWO_FAULTS._replace(first_leader=2), MISSED_EPOCH), (THREE_FAULTS, (*OTHER_LEADER, *MISSED_EPOCH)))


@pytest.mark.parametrize(("bounds", "steps"), GAPS, ids=["two faults", "three from the preferred leader"])
@pytest.mark.parametrize(
    ("name", "kept"),
    [(WITHOUT_ELR, False), (FORGETFUL, False), (WITH_ELR, False), (FORGETFUL_MENDED, True), (MENDED, True)],
)
def test_a_leader_that_missed_an_epoch_commits_what_a_follower_has_cut(
    name: str, kept: bool, bounds: SettingsBounds, steps: tuple[tuple[str, int], ...]
) -> None:
    model = model_of(name, bounds)
    state = model.initial
    for action in steps:
        assert model.invariants[0].holds(state)
        state = next(one.state for one in successors(model, state) if (one.action.name, one.chosen[0]) == action)
    assert model.invariants[0].holds(state) == kept


@pytest.mark.slow
def test_no_shorter_way_loses_without_a_lost_log_and_none_at_all_once_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KREPLICA_CACHE", str(tmp_path))
    rows: list[tuple[SettingsBounds, str, int | None]] = [(THREE_FAULTS, WITH_ELR, len(OTHER_LEADER + MISSED_EPOCH))]
    rows += [(TWO_FAULTS, WITH_ELR, len(MISSED_EPOCH)), (THREE_FAULTS, MENDED, None)]
    for bounds, name, steps in rows:
        model = model_of(name, bounds)
        found = compiled_search.search(model, model.invariants, PLENTY)
        assert found.broken or found.complete
        assert (len(found.broken["acknowledged-kept"]) - 1 if found.broken else None) == steps


def decisions_of(name: str) -> Iterator[SettingsState]:
    """Every decision of a controller, with every set of active brokers."""
    state = model_of(name, SettingsBounds(3, 1, ACKS_ALL, 2, True, 1, 1, 0)).initial
    sets, eligible = range(8), range(8) if VERSIONS[name].elr else (0,)
    for isr, elr, active, min_isr in product(sets, eligible, sets, (1, 2, 3)):
        if isr & elr or (elr and isr.bit_count() >= min_isr):
            continue
        for leader, last in [*((one, 0) for one in range(3) if isr >> one & 1), *((-1, last) for last in (0, 1, 2, 4))]:
            fields = {"true_leader": leader, "true_isr": isr, "elr": elr, "last_known_elr": last, "active": active}
            fields |= {"unassigned": 0b011, "min_isr": min_isr}
            yield state._replace(**{field: [value] for field, value in fields.items()})


@pytest.mark.parametrize("release", ["3.9-kraft", "4.1", "4.2", "4.3"])
def test_a_directory_that_is_told_changes_what_it_does_in_the_engine(release: str) -> None:
    """One of a new disk, told in any state of the partition: as the simulator's controller, which Kafka's judges."""
    version = version_named(release)
    (name,) = (one for one in RELEASES if VERSIONS[one].name == ("4.1" if release == "4.2" else release))
    cleared = 0
    for state in decisions_of(name):
        places = {"leader": state.true_leader[0], "isr": state.true_isr[0], "elr": state.elr[0]}
        before = PartitionState("t-0", (0, 1, 2), last_known_elr=state.last_known_elr[0], **places)
        active = tuple(one for one in range(3) if state.active[0] >> one & 1)
        facts = Circumstances(active, state.min_isr[0], version.elr, True, version.moves_wait_for, False)
        wanted = simulated(before, facts, version.assigned_keep_elr)
        told = state._replace(**{field: list(values) for field, values in state._asdict().items()})
        directory_assigned(told, 1)
        decided = (told.true_leader[0], told.true_epoch[0], told.true_isr[0], told.elr[0], told.last_known_elr[0])
        assert decided == (wanted.leader, wanted.leader_epoch, wanted.isr, wanted.elr, wanted.last_known_elr), before
        assert told.unassigned == [0b001]
        cleared += before.elr != 0 and wanted.elr == 0 and wanted.isr == before.isr
    assert (cleared > 100) == (release in ("4.1", "4.2"))


def test_three_replicas_and_a_record_take_two_words() -> None:
    assert words_of(model_of(WITH_ELR, SettingsBounds(3, 1, ACKS_ALL, 2, False, 5, 5, 5)).layout) == 2


def walks(records: int, count: int) -> Iterator[tuple[list[Taken], SettingsState, str]]:
    """Random walks of both models, unclean elections and lost logs among them."""
    for name, seed in product(VERSIONS, range(count)):
        chance = Random(seed)
        acks, unclean = chance.choice((1, ACKS_ALL)), chance.random() < 0.5
        model = model_of(name, SettingsBounds(3, records, acks, chance.choice((1, 2)), unclean, 5, 2, 5))
        begun = state = chance.choice(model.beginnings)
        steps = list[Taken]()
        while len(steps) < 60 and (possible := list(successors(model, state))):
            steps.append(chance.choice(possible))
            state = steps[-1].state
            model.layout.key(state)
        yield steps, begun, name


@pytest.mark.one_python
def test_a_follower_cuts_its_log_where_the_engine_does() -> None:
    seen_cuts = 0
    for steps, _, _ in walks(3, 60):
        for step in steps:
            state = step.state
            for follower, leader in ((f, state.leader[f]) for f in range(3) if state.leader[f] not in (-1, f)):
                if state.epoch[leader] != state.epoch[follower] or state.leader[leader] != leader:
                    continue
                logs = [cache(state, replica) for replica in (follower, leader)]
                end, leader_end = log_end(state, follower), log_end(state, leader)
                wanted = truncate_by_leader_epoch(*logs[0], end, 0, *logs[1], leader_end)
                assert agreed_end(state, follower, leader) == wanted
                seen_cuts += wanted < end
    assert seen_cuts > 20


def cache(state: SettingsState, replica: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Leader epochs of a log, and where they begin."""
    log = len(state.written_in)
    epochs = [state.written_in[state.records[replica * log + at] - 1] for at in range(log_end(state, replica))]
    return tuple(dict.fromkeys(epochs)), tuple(epochs.index(epoch) for epoch in dict.fromkeys(epochs))


def test_the_events_of_a_walk_make_its_state() -> None:
    kinds = set[str]()
    for steps, initial, _ in walks(2, 20):
        events = events_of(initial, steps)
        kinds |= {event.kind for event in events}
        strips = {strip.node: strip for strip in log_strips(events)}
        last = seen(steps[-1].state)
        for replica in range(3):
            strip = strips.get(f"broker-{replica + 1}")
            held = sum(len(piece.values) for piece in strip.pieces) if strip else 0
            assert held == seen_log_end(last, replica)
    assert kinds >= {Kind.CRASHED, Kind.STARTED, Kind.DISK_LOST, Kind.BROKER_FENCED, Kind.BROKER_UNFENCED}
    assert kinds >= {Kind.PARTITION_CHANGED, Kind.BECAME_LEADER, Kind.BECAME_FOLLOWER, Kind.RESIGNED, Kind.TRUNCATED}


def loses_by_power(name: str, bounds: SettingsBounds) -> bool:
    """Whether a record can be lost to losses of power, by counting its copies.

    With acks=1 it is on one disk. What nobody flushes is gone with all page caches, at once or one after the other. The
    gap of a missed epoch takes a fault that leaves others up and, after it, the failure of one other; of two if those
    are too few for min ISR. An unclean election passes over who has the record: others were down as it was written,
    because of three faults, or because they came back later from the first loss of power of all.
    """
    single, of_all = bounds.cut_offs + bounds.power_losses, bounds.power_losses_of_all
    if bounds.acks == 1:
        return True
    if bounds.flush_messages == NEVER and (of_all or bounds.power_losses >= bounds.replicas):
        return True
    if VERSIONS[name].positions_outlive_leaders and single + 2 * of_all >= (2 if bounds.min_isr < 3 else 3) and single:
        return True
    return bounds.unclean and bounds.min_isr < bounds.replicas and (of_all > 1 or single >= 3)


def loss_table() -> ModuleType:
    sys.path.insert(0, str(ROOT / "docs" / "generator"))
    try:
        return import_module("loss_table")
    finally:
        sys.path.pop(0)


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("table", "judge", "some"), [("FAULTS", loses, 51), ("POWER", loses_by_power, 48)], ids=["faults", "power"]
)
def test_a_table_of_the_page_has_every_row_and_the_verdicts_of_counted_copies(
    table: str, judge: Callable[[str, SettingsBounds], bool], some: int
) -> None:
    tables = loss_table()
    wanted = getattr(tables, table)
    text = (ROOT / "docs" / "losses.md").read_text(encoding="utf-8")
    shown = text.partition(wanted.begin)[2].partition(wanted.end)[0]
    assert shown.startswith(f"\n{wanted.title()}")
    lines = shown.strip().splitlines()[2:]
    assert len(lines) == len(wanted.rows())
    recomputed = 0
    for line, (name, settings) in zip(lines, wanted.rows(), strict=True):
        cells = [each.strip() for each in line.strip("|").split("|")][-len(wanted.budgets) :]
        assert f"{line}\n" == wanted.row(name, settings, cells)
        for cell, budget in zip(cells, wanted.budgets.values(), strict=True):
            told = cell.lstrip("[").partition("]")[0]
            bounds = settings._replace(**budget._asdict())
            assert (told != tables.HOLDS) == judge(name, bounds), (name, bounds)
            if bounds.acks == 1 or (
                bounds.faults == 1 and table == "FAULTS" and bounds.min_isr == 2 and bounds.unclean
            ):
                assert told == str(steps_to_loss(name, bounds) or tables.HOLDS)
                recomputed += 1
    assert recomputed == some


@TWO_REPLICAS
@pytest.mark.one_python
def test_cells_that_others_answer_are_those_of_a_search_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two replicas, by plain searches: the same cells, from fewer searches."""
    tables = loss_table()
    asked = list[str]()

    def plain(model: Model, invariants: Sequence[Invariant], memory: int) -> Explored:
        asked.append(model.name)
        return search(model, invariants, memory)

    monkeypatch.setattr(tables.compiled_search, "search", plain)
    budgets = [tables.any_fault(*each) for each in ((1, 1, 1), (2, 0, 0), (2, 0, 2), (2, 1, 0), (2, 1, 1), (2, 2, 2))]
    for name, min_isr, unclean in product((FORGETFUL, WITH_ELR), (1, 2), (False, True)):
        settings = SettingsBounds(2, 1, ACKS_ALL, min_isr, unclean, 0, 0, 0)
        each = [steps_to_loss(name, settings._replace(**budget._asdict())) for budget in budgets]
        assert [lost and lost.steps for lost in tables.losses(name, settings, budgets)] == each
    assert len(asked) < 8 * len(budgets) / 2


@pytest.mark.one_python
def test_every_loss_of_a_release_is_linked_and_the_run_loses_the_record() -> None:
    """Played anew by the simulator, each with the settings and the release of its row; no file is left over."""
    tables = loss_table()
    page = ROOT / "docs" / "losses.md"
    text, linked = page.read_text(encoding="utf-8"), set[str]()
    for table in tables.TABLES:
        for line in text.partition(table.begin)[2].partition(table.end)[0].strip().splitlines()[2:]:
            row = line.split("|")[1:-1]
            alone = [cell for cell in row[-len(table.budgets) :] if cell.strip().isdigit()]
            assert not alone or row[0].strip() in tables.MENDED, line
            for name in re.findall(r"\[\d+\]\(losses/(.+?)\)", line):
                file = plan_file_from_json((page.with_suffix("") / name).read_bytes(), name)
                assert name.startswith(f"{row[0].strip()}-acks-{row[1].strip()}-"), name
                if row[1].strip() == "all":
                    assert file.settings["min.insync.replicas"] == row[2].strip(), name
                if name in linked:
                    continue
                linked.add(name)
                run = play_file(SCENARIO, file)
                assert not run.outcome.is_safe, name
                assert run.version.name == VERSIONS[row[0].strip()].name
    assert linked == {each.name for each in page.with_suffix("").glob("settings-*")}
    assert len(linked) > 90


@TWO_REPLICAS
@pytest.mark.slow
def test_the_compiled_search_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KREPLICA_CACHE", str(tmp_path))
    of_power = SettingsBounds(2, 1, ACKS_ALL, 2, True, 2, 0, 1, 2, 1, 1, 1)
    powers = [(WITHOUT_ELR, of_power._replace(cut_offs=0, power_losses=1, flush_messages=NEVER)), (WITH_ELR, of_power)]
    for name, bounds in [*list(of_two_replicas())[::5], *powers]:
        model = model_of(name, bounds)
        plain = explored(name, bounds)
        compiled = compiled_search.search(model, model.invariants, PLENTY)
        assert (compiled.distinct, compiled.depth, compiled.complete) == (plain.distinct, plain.depth, plain.complete)
        assert compiled.broken == plain.broken
