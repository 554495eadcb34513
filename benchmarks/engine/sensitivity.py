"""Number of seeds until something unsafe shows: the table of ``safety.py --sensitivity``.

A row removes one rule or one safe setting and looks for runs in which that shows; the same seeds are also played with
it, and there nothing may show. Random clusters under random faults find most unsafe settings. A rule about one chain of
events is searched for around the scenario of that chain: its times moved by up to 5 ms, its links with jitter. Rules
that came with a version are removed from that version; the others are switched off.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf
from random import Random
from statistics import median

import switched_off

from kreplica.engine import Version, observe, version_named
from kreplica.engine.checkers.invariants import Invariant
from kreplica.engine.checkers.outcome import measure
from kreplica.engine.fuzzing.plans import DEFAULT_PROFILE, FaultKind, Profile, near_plan
from kreplica.engine.fuzzing.setups import random_run, with_settings
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.replication.leader_and_isr import ANY_NUMBER
from kreplica.engine.settings import Value
from kreplica.engine.versions.supported import Truncation
from kreplica.model.settings import MIN_ISR, UNCLEAN
from kreplica.scenarios import scenario_named

MOST_SEEDS = 200
PART = 5
"""Seeds that a process plays at a time."""
NOT_SAFE = "not safe"
"""The harm on random clusters: a promise is broken (``Outcome.keeps_promises``)."""

Settings = dict[str, Value]

_ENDS = (FaultKind.CRASH, FaultKind.RESTART, FaultKind.FAILOVERS, FaultKind.LAGGARD)
_DISKS = Profile((*_ENDS, FaultKind.DISK_LOSS))
_POWER = Profile((*_ENDS, FaultKind.POWER_LOSS))
_ELECTIONS = Profile((FaultKind.BACK_AND_FORTH, FaultKind.LATE_CONTROLLER, FaultKind.SESSION, FaultKind.PREFERRED))
_BY_MARK = Truncation.HIGH_WATERMARK
_IDEMPOTENCE: Settings = {"enable.idempotence": True, "acks": ACKS_ALL}
_NO_IDEMPOTENCE: Settings = {"enable.idempotence": False, "acks": ACKS_ALL}
_UNCLEAN: Settings = {UNCLEAN: True}


@dataclass(frozen=True, slots=True)
class Unsafe:
    """A missing rule or an unsafe setting, and the runs in which it is searched for.

    Args:
        name: The setting, or the missing rule.
        version: Version of Kafka whose rules are played.
        rules: Fields of ``Version`` as they are without the rule.
        off: Replacements of rules that every version has.
        settings: Settings that override the safe ones.
        safe: Settings of the comparison runs, in which nothing may show. None: there are no such runs, since the
            faults themselves destroy committed records.
        whole: Version of the comparison runs; ``version`` itself, with the rule, if empty.
        scenario: Scenario around which it is searched for; random clusters if empty.
        wrong: Measure of the outcome, or probe of the scenario, that shows it.
        profile: The faults of random clusters.
    """

    name: str
    version: str
    rules: Mapping[str, object] = field(default_factory=dict)
    settings: Settings = field(default_factory=dict)
    safe: Settings | None = field(default_factory=dict)
    whole: str = ""
    scenario: str = ""
    wrong: str = NOT_SAFE
    profile: Profile = DEFAULT_PROFILE
    off: switched_off.Rules = field(default_factory=dict)

    @property
    def where(self) -> str:
        """The runs in which it is searched for, in words."""
        return f"near {self.scenario}" if self.scenario else "random clusters"

    def shows(self, seed: int) -> bool:
        """True if the run of that seed goes wrong."""
        version = replace(version_named(self.version), **self.rules)  # type: ignore[arg-type]
        with switched_off.switched_off(self.off):
            return self._goes_wrong(seed, version, self.settings)

    def shows_all_the_same(self, seed: int) -> bool:
        """True if the run goes wrong with the rule and the safe settings, too: then it shows something else."""
        return self.safe is not None and self._goes_wrong(seed, version_named(self.whole or self.version), self.safe)

    def _goes_wrong(self, seed: int, version: Version, settings: Settings) -> bool:
        return bool(self._near(seed, version, settings) if self.scenario else self._random(seed, version, settings))

    def _random(self, seed: int, version: Version, settings: Settings) -> object:
        setup, plan = random_run(seed, version, self.profile)
        outcome, _ = observe(with_settings(setup, settings), plan, version, seed, keep=False)
        return not outcome.keeps_promises if self.wrong == NOT_SAFE else measure(outcome, self.wrong)

    def _near(self, seed: int, version: Version, settings: Settings) -> object:
        scenario, chance = scenario_named(self.scenario), Random(f"near {seed}")
        setup = scenario.setup.with_settings({**settings, "jitter.us": chance.choice((0, 50, 200))})
        probe = scenario.probes.get(self.wrong)
        outcome, events = observe(setup, near_plan(scenario.plan, chance), version, seed, keep=probe is not None)
        return measure(outcome, self.wrong) if probe is None else probe(events)


_SETTINGS = (
    Unsafe("acks=0", "3.9-kraft", settings={**_NO_IDEMPOTENCE, "acks": 0}, safe=_NO_IDEMPOTENCE, wrong="lost"),
    Unsafe("acks=1", "3.9-kraft", settings={**_NO_IDEMPOTENCE, "acks": 1}, safe=_NO_IDEMPOTENCE, wrong="lost"),
    Unsafe("unclean elections, ZooKeeper", "3.9", settings=_UNCLEAN),
    Unsafe("unclean elections, KRaft", "3.9-kraft", settings=_UNCLEAN),
    Unsafe(
        "min.insync.replicas=1",
        "3.9-kraft",
        settings={MIN_ISR: 1},
        safe={MIN_ISR: 2},
        scenario="min-isr-1-acks-all",
        wrong="committed_lost",
    ),
    Unsafe("disks lost", "3.9-kraft", safe=None, profile=_DISKS),
    Unsafe("power lost, nothing flushed", "3.9-kraft", safe={"flush.messages": 1}, profile=_POWER),
    Unsafe("enable.idempotence=false: duplicates", "3.9-kraft", {}, _NO_IDEMPOTENCE, _IDEMPOTENCE, wrong="duplicated"),
    Unsafe("enable.idempotence=false: order", "3.9-kraft", {}, _NO_IDEMPOTENCE, _IDEMPOTENCE, wrong="reordered"),
    Unsafe(
        "auto.offset.reset=latest",
        "3.9-kraft",
        settings={"auto.offset.reset": "latest"},
        safe={"auto.offset.reset": "earliest"},
        scenario="reset-latest-new-partition",
        wrong="never_done",
    ),
    Unsafe(
        "isolation.level=read_uncommitted",
        "3.9-kraft",
        settings={"isolation.level": "read_uncommitted"},
        safe={"isolation.level": "read_committed"},
        scenario="exactly-once-processing",
        wrong="bills_twice",
    ),
    Unsafe(
        "unclean elections of __consumer_offsets",
        "3.9-kraft",
        settings=_UNCLEAN,
        safe={UNCLEAN: False},
        scenario="offsets-topic-loss",
        wrong="done_twice",
    ),
    Unsafe(
        "transactions not verified",
        "3.7",
        settings={"transaction.partition.verification.enable": False},
        scenario="hanging-transaction",
        wrong="hanging",
    ),
)

_RULES = (
    Unsafe("0.10 as it was", "0.10", whole="2.1"),
    Unsafe("KAFKA-7164: every new epoch is noticed", "2.1", {"epochs_followed_on": ANY_NUMBER}, profile=_ELECTIONS),
    Unsafe("KAFKA-13141: a diverging position is not noted", "3.4.1", {"diverging_position_noted": True}),
    Unsafe("KAFKA-14704: a follower cuts first", "3.4.1", {"watermark_before_cut": True}),
    Unsafe("KIP-903: broker epochs in an ISR", "3.5-kraft", {"broker_epoch_in_isr": False}, safe=None, profile=_DISKS),
    Unsafe("2.0 as it was: no KIP-320", "2.0", whole="2.1", scenario="unfenced-fetch", wrong="committed_lost"),
    Unsafe("KIP-101, 2.0", "2.0", {"truncation": _BY_MARK}),
    Unsafe("KIP-101, 2.7", "2.7", {"truncation": _BY_MARK, "truncate_on_fetch": False}),
    Unsafe("KIP-101", "2.0", {"truncation": _BY_MARK}, scenario="hw-truncation-loss", wrong="committed_lost"),
    Unsafe("KIP-101", "2.0", {"truncation": _BY_MARK}, scenario="hw-truncation-divergence", wrong="diverged"),
    Unsafe("KIP-279", "2.1", {"truncation": Truncation.KIP_101}, scenario="fast-failover-divergence", wrong="diverged"),
    Unsafe(
        "KIP-320: fetches fenced", "2.1", {"fenced_fetch": False}, scenario="unfenced-fetch", wrong="committed_lost"
    ),
    Unsafe(
        "KAFKA-7786: stale ends of epochs dropped",
        "2.1.1",
        {"stale_epoch_ends_dropped": False},
        scenario="stale-leader-truncation",
        wrong="committed_lost",
    ),
    Unsafe(
        "KAFKA-7128: joining at the epoch's start",
        "2.1",
        {"join_at_epoch_start": False},
        scenario="premature-isr-join",
        wrong="committed_lost",
    ),
    Unsafe(
        "KIP-903: broker epochs in an ISR",
        "3.5-kraft",
        {"broker_epoch_in_isr": False},
        scenario="rebooted-follower",
        wrong="committed_lost",
    ),
    Unsafe("KIP-966: ELR", "4.3", {"elr": False}, scenario="last-replica-standing", wrong="committed_lost"),
    Unsafe(
        "KIP-98: sequences",
        "3.5",
        {"idempotence": False, "transaction_version": 0},
        wrong="duplicated",
        settings=_IDEMPOTENCE,
        safe=_IDEMPOTENCE,
    ),
    Unsafe(
        "KIP-447: generations in transactions",
        "2.5",
        {"stable_offsets": False},
        scenario="zombie-transaction",
        wrong="duplicated",
    ),
    Unsafe(
        "KIP-890: verification", "3.7", {"verify_transactions": False}, scenario="hanging-transaction", wrong="hanging"
    ),
    Unsafe(
        "KIP-890: an epoch a transaction",
        "4.0",
        {"transaction_version": 1},
        scenario="delayed-end-transaction",
        wrong="torn",
    ),
    Unsafe(
        "KIP-320: consumers detect truncation",
        "2.3",
        {"consumer_detects_truncation": False},
        scenario="consumer-truncation-detect",
        wrong="never_done",
    ),
)

_ALWAYS = (
    Unsafe("a high watermark waits for the ISR", "3.9-kraft", off=switched_off.COMMITTED_ALONE),
    Unsafe("acks=all waits for the high watermark", "3.9-kraft", off=switched_off.ANSWERED_AT_ONCE),
    Unsafe(
        "acks=all counts the ISR",
        "2.7",
        settings={MIN_ISR: 2},
        safe={MIN_ISR: 2},
        scenario="min-isr-1-acks-all",
        wrong="committed_lost",
        off=switched_off.ISR_NOT_COUNTED,
    ),
    Unsafe(
        "followers join at the high watermark",
        "2.1",
        scenario="premature-isr-join",
        wrong="committed_lost",
        off=switched_off.JOINS_AT_ONCE,
    ),
    Unsafe("an ISR shrinks", "3.9-kraft", off=switched_off.NEVER_SHRINKS),
    Unsafe("an ISR fills", "3.9", off=switched_off.NEVER_JOINS, profile=Profile(_ENDS)),
    Unsafe("a follower's high watermark lies in its log", "2.1", off=switched_off.AS_THE_LEADER_SAYS),
    Unsafe("followers join at the high watermark", "2.1", off=switched_off.JOINS_AT_ONCE),
    Unsafe("leaders are of the ISR, KRaft", "3.9-kraft", off=switched_off.LED_BY_ANYBODY_KRAFT),
    Unsafe("leaders are of the ISR, ZooKeeper", "3.9", off=switched_off.LED_BY_ANYBODY_ZOOKEEPER),
    Unsafe("followers cut what diverges, by fetches", "3.9-kraft", off=switched_off.NOTHING_DIVERGES),
    Unsafe("followers cut what diverges, by asking", "2.1", off=switched_off.NOTHING_CUT),
    Unsafe(
        "sequences follow each other",
        "3.5",
        settings=_IDEMPOTENCE,
        safe=_IDEMPOTENCE,
        wrong=str(Invariant.IDEMPOTENCE_ORDER),
        off=switched_off.ANY_SEQUENCE,
    ),
    Unsafe(
        "duplicates are known",
        "3.5",
        settings=_IDEMPOTENCE,
        safe=_IDEMPOTENCE,
        wrong=str(Invariant.IDEMPOTENCE_DUPLICATE),
        off=switched_off.NO_DUPLICATES_KNOWN,
    ),
    Unsafe(
        "read_committed stops at the LSO",
        "3.0",
        scenario="zombie-producer-fenced",
        wrong="aborted_read",
        off=switched_off.READ_OPEN_TRANSACTIONS,
    ),
    Unsafe(
        "read_committed leaves out what was aborted",
        "3.0",
        scenario="zombie-producer-fenced",
        wrong="aborted_read",
        off=switched_off.READ_ABORTED_TRANSACTIONS,
    ),
)
"""Rules that every version has: played only uncompiled."""

UNSAFE = (*_SETTINGS, *_RULES, *(() if switched_off.is_compiled() else _ALWAYS))


@dataclass(frozen=True, slots=True)
class Found:
    """Result of a search: the seeds that show the harm, and those that show it with the rule, too."""

    hits: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def median_seeds(self) -> float:
        """The median number of seeds until one shows it; infinite if none does."""
        gaps = [after - before for before, after in pairwise((-1, *self.hits))]
        return median(gaps) if gaps else inf


def search(row: int, seeds: range) -> Found:
    """Plays these seeds of a row of ``UNSAFE``."""
    unsafe = UNSAFE[row]
    hits = tuple(seed for seed in seeds if unsafe.shows(seed))
    return Found(hits, tuple(seed for seed in seeds if unsafe.shows_all_the_same(seed)))


def sensitivity(seeds: range, enough: int, processes: int, workers: Executor) -> int:
    """Prints the table; returns 1 when a row shows nothing soon enough, or its runs with the rule do.

    Args:
        seeds: Seeds of each row.
        enough: Number of runs that show the harm, after which a row is done.
        processes: Number of parts that are searched at once.
        workers: Pool of processes that search.
    """
    wrong = []
    print(f"{'unsafe':<44}{'searched':<36}{'caught':>7}{'of':>5}{'median seeds':>14}{'with the rule':>15}")
    for place, unsafe in enumerate(UNSAFE):
        found, runs = _searched(place, seeds, enough, processes, workers)
        told = f"more than {runs}" if found.median_seeds == inf else f"{found.median_seeds:g}"
        others = "-" if unsafe.safe is None else str(len(found.others))
        row = f"{unsafe.name:<44}{unsafe.where:<36}{len(found.hits):>7}{runs:>5}{told:>14}{others:>15}"
        print(row, flush=True)
        if found.median_seeds > MOST_SEEDS or found.others:
            wrong.append(f"{unsafe.name}, {unsafe.where}")
    print(f"not caught within {MOST_SEEDS} seeds, or not by what is missing: {', '.join(wrong) or 'none'}")
    return 1 if wrong else 0


def _searched(row: int, seeds: range, enough: int, processes: int, workers: Executor) -> tuple[Found, int]:
    """Searches a row's seeds; returns what they show, and how many of them were played."""
    hits: list[int] = []
    others: list[int] = []
    step = PART * processes
    for begin in range(0, len(seeds), step):
        parts = [seeds[at : at + PART] for at in range(begin, min(begin + step, len(seeds)), PART)]
        for piece in workers.map(search, [row] * len(parts), parts):
            hits += piece.hits
            others += piece.others
        if len(hits) >= enough:
            return Found(tuple(hits), tuple(others)), begin + sum(map(len, parts))
    return Found(tuple(hits), tuple(others)), len(seeds)
