"""The incidents of a thousand clusters: one screen, the worst first, what it leaves out gathered and said."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from rich.console import Console

from commands.audit.incidents.fitting import cluster_rows, kinds_of
from commands.audit.incidents.screen import show
from kreplica.errors import ExitCode
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.incidents.fleet import FoundIncidents
from kreplica.fleet.incidents.incident import Incident, incident_order
from kreplica.fleet.incidents.packed import GatheredFindings, PackedFindings
from kreplica.health.rules import Severity
from kreplica.history.selection import Chosen

MARCH, HOUR = 1_772_323_200_000, 3_600_000
KINDS = ["broker-down", "rack-down", "log-directory-offline", "leader-epoch-churn", "brokers-down", "controller-moved"]


def incident(number: int, cluster: str, drawn: random.Random, *, calm: bool = False) -> Incident:
    severity = Severity.WARNING if calm else drawn.choice([Severity.CRITICAL, Severity.WARNING, Severity.WARNING])
    begin = MARCH + number % 700 * HOUR
    end = None if drawn.random() < 0.05 and not calm else begin + 4 * HOUR
    kind = drawn.choice(KINDS)
    times = (begin - HOUR, begin, begin + 3 * HOUR, end)
    one = FleetFinding(
        cluster, "under-replicated", severity, Certainty.PROVED, *times, 3, HOUR, False, "words", "orders", number % 9
    )
    key = "brokers 1, 2, 3, 4, 5 and 6" if kind == "brokers-down" else f"broker {number % 12}"
    return Incident(cluster, kind, key, Certainty.PROVED, *times, (1,), [one] * drawn.randrange(1, 40)).packed()


@pytest.fixture(scope="module")
def thousand() -> FoundIncidents:
    return fleet(1000, 4_000)


def fleet(clusters: int, incidents: int) -> FoundIncidents:
    drawn = random.Random(16)
    names = {f"id-{number:04}": f"prod-eu-{number:04}" for number in range(clusters)}
    labels = list(names)[: max(1, clusters - 12)]  # of the others nothing is told
    every = [incident(number, drawn.choice(labels), drawn) for number in range(incidents)]
    left = GatheredFindings([PackedFindings([every[0].findings[0]] * 321)])
    return FoundIncidents(sorted(every, key=incident_order), left, names, 720 * clusters, Chosen((), (), 0, 0))


def screen(found: FoundIncidents, width: int, height: int, capsys: pytest.CaptureFixture[str]) -> list[str]:
    console = Console(width=width, height=height, force_terminal=True, no_color=True, highlight=False)
    show(found, "history", ExitCode.FINDINGS, console)
    return [re.sub(r"\x1b\[\d*m", "", line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 40), (140, 40), (200, 60)])
def test_a_thousand_clusters_are_one_screen(
    thousand: FoundIncidents, width: int, height: int, capsys: pytest.CaptureFixture[str]
) -> None:
    found = thousand
    lines = screen(found, width, height, capsys)
    assert len(lines) < height
    assert [line for line in lines if len(line) > width] == []
    text = "\n".join(lines)
    shown = [one.id for one in found.incidents if one.id in text]
    assert shown[:-1] == [one.id for one in found.incidents[: len(shown) - 1]]  # the last one may stand in `next`, too
    assert len(shown) >= 3
    joined = " ".join(text.split())
    assert f"the worst {len(shown)} of 4000" in joined
    assert "without an incident" in joined
    assert "-o jsonl gives all" in joined
    assert "--cluster NAME tells one" in joined
    assert lines[-1].startswith("next     kreplica audit incident ")
    assert lines[-1].endswith(f"--cluster {found.incidents[0].cluster}")


def test_more_room_shows_more(thousand: FoundIncidents, capsys: pytest.CaptureFixture[str]) -> None:
    small, large = (len(screen(thousand, 80, height, capsys)) for height in (24, 60))
    assert large >= small + 30


def test_long_names_of_clusters_are_cut_before_severities_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    found = fleet(13, 40)
    some = [one for one in found.incidents if one.kind in ("broker-down", "brokers-down")]
    assert len(some) > 3
    named = replace(found, incidents=some, names={label: f"{label} of a long name" for label in found.names})
    header = next(line for line in screen(named, 80, 40, capsys) if "INCIDENT " in line)
    assert header.split()[:3] == ["SEVERITY", "INCIDENT", "CLUSTER"]


def test_few_incidents_are_all_there_and_nothing_is_said_to_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    found = fleet(13, 4)
    lines = screen(found, 140, 40, capsys)
    assert sum(one.id in "\n".join(lines) for one in found.incidents) == 4
    assert not any("the others" in line for line in lines)


def test_clusters_stand_by_what_goes_on_in_them() -> None:
    drawn = random.Random(1)
    calm = [incident(number, "calm", drawn, calm=True) for number in range(9)]
    worst = [one for one in (incident(number, "bad", drawn) for number in range(40)) if one.valid_to_ms is None]
    names = {"calm": "prod-1", "bad": "prod-2"}
    rows = cluster_rows([*calm, *worst], names, Console(width=4096))
    assert [row[0] for row in rows] == ["prod-2", "prod-1"]
    assert rows[1][1:5] == ["warning", 9, 0, sum(len(one.findings) for one in calm)]


def test_kinds_are_counted_the_most_frequent_first_and_the_rest_gathered() -> None:
    drawn = random.Random(2)
    every = [incident(number, "c", drawn) for number in range(200)]
    words = kinds_of(every, 2)
    counts = sorted((sum(one.kind == kind for one in every) for kind in KINDS), reverse=True)
    assert [int(number) for number in re.findall(r"\d+", words)] == [counts[0], counts[1], sum(counts[2:])]
