"""kreplica audit incidents and kreplica audit incident: what they say, in every form, and what they end with."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fleet_histories import PlantedCluster, ingest_into
from histories import HOUR, MARCH
from history_folders import moment
from planted_incidents import larger, restart, start, stop

from kreplica.system.storage import LocalStorage


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Two clusters: in one a broker is down from hour 3 to hour 5, the other is restarted, broker by broker."""
    ill, well = PlantedCluster(label="c1", name="prod"), larger()
    well.label, well.name, well.now = "c2", "test", 3.5
    ill.snapshot(3)
    stop(ill, 2)
    ill.snapshot(2)
    start(ill, 2)
    ill.snapshot(3)
    well.snapshot(3, every=0.25)
    restart(well, [0, 1, 2, 3, 4, 5])
    well.snapshot(2, every=0.25)
    ingest_into(LocalStorage(tmp_path / "history"), [ill, well])
    return tmp_path / "history"


def at(hours: float) -> str:
    return moment(MARCH + round(hours * HOUR)).isoformat()


def test_one_line_a_cause_and_what_was_planned(kreplica: Any, history: Path) -> None:
    ended = kreplica("audit", "incidents", str(history))
    assert ended.code == 1
    lines = ended.out.splitlines()
    assert lines[0] == "WARNING 1 incident in 2 clusters and 25 snapshots, 12 findings explained, 1 planned"
    assert lines[2].split()[:5] == ["SEVERITY", "INCIDENT", "CLUSTER", "KIND", "CONCERNS"]
    assert [line.split()[2:4] for line in lines[3:5]] == [["prod", "broker-down"], ["test", "rolling-restart"]]
    incident = lines[3].split()[1]
    assert lines[-1] == f"next     kreplica audit incident {incident} {history}"


def test_the_rows_and_the_summary(kreplica: Any, history: Path) -> None:
    document = kreplica("audit", "incidents", str(history), "-o", "json").document
    down, roll = document["incidents"]
    times = [down[name] for name in ("begun_after", "valid_from", "last_seen", "valid_to")]
    assert times == [at(2), at(3), at(4), at(5)]
    assert (down["kind"], down["key"], down["brokers"], down["changed"]) == ("broker-down", "broker 2", [2], [])
    assert (down["findings"], down["partitions"], down["planned"]) == (12, 5, False)
    assert (roll["kind"], roll["planned"], roll["severity"]) == ("rolling-restart", True, "info")
    summary = document["summary"]
    assert (summary["incidents"], summary["planned"], summary["going_on"]) == (1, 1, 0)
    assert (summary["by_severity"], summary["left_over"]) == ({"warning": 1}, {})
    assert document["clusters"] == [{"cluster": "c1", "name": "prod"}, {"cluster": "c2", "name": "test"}]


@pytest.mark.parametrize(
    ("words", "code", "kinds"),
    [
        (["--cluster", "test"], 0, ["rolling-restart"]),
        (["--fail-on", "critical"], 0, ["broker-down", "rolling-restart"]),
        (["--exit-zero"], 0, ["broker-down", "rolling-restart"]),
        (["--since", at(4)], 1, ["broker-down", "rolling-restart"]),
        (["--since", at(4.25)], 0, ["rolling-restart"]),
        (["--until", at(4)], 1, ["broker-down"]),
        (["--until", at(2)], 0, []),
        (["--since", at(7.25)], 0, []),
    ],
)
def test_which_are_told_and_the_exit_code(
    kreplica: Any, history: Path, words: list[str], code: int, kinds: list[str]
) -> None:
    ended = kreplica("audit", "incidents", str(history), *words, "-o", "json")
    assert (ended.code, [row["kind"] for row in ended.document["incidents"]]) == (code, kinds)


def test_groups_of_clusters_are_the_tags_of_contexts(
    kreplica: Any, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contexts = {"prod": '["eu", "pay"]', "test": '["eu"]', "pr*d": '["odd"]', "bare": "[]"}
    lines = [f"[contexts.'{name}']\nbootstrap_servers = 'h:1'\ntags = {tags}\n" for name, tags in contexts.items()]
    (tmp_path / "contexts.toml").write_text("".join(lines), encoding="utf-8")
    monkeypatch.setenv("KREPLICA_CONFIG", str(tmp_path / "contexts.toml"))

    def names(*words: str) -> list[str]:
        ended = kreplica("audit", "incidents", str(history), *words, "-o", "json")
        return [one["name"] for one in ended.document["clusters"]] if ended.code < 2 else [ended.err]

    assert names("--group", "eu") == ["prod", "test"]
    assert names("--cluster-group", "pay") == ["prod"]
    assert names("--group", "pay", "--cluster", "te*") == ["prod", "test"]
    assert "holds no cluster that is wanted" in names("--group", "odd")[0]  # a name with a star is no pattern
    assert "no context has the tag e; did you mean eu?" in names("--group", "e")[0]
    settings = kreplica("config", "show", "prod", "-o", "json").document["settings"]
    (shown,) = [row for row in settings if row["name"] == "tags"]
    assert shown["value"] == "eu, pay"
    monkeypatch.setenv("KREPLICA_CONFIG", str(tmp_path / "none.toml"))
    assert "cannot read contexts file" in names("--group", "eu")[0]


def test_the_same_incident_has_the_same_id_whatever_is_asked_for(kreplica: Any, history: Path) -> None:
    every = kreplica("audit", "incidents", str(history), "-o", "json").document["incidents"][0]
    some = kreplica("audit", "incidents", str(history), "--since", at(4), "-o", "json").document["incidents"][0]
    assert every == some


def test_one_incident_is_told_with_its_bounds_and_its_findings(kreplica: Any, history: Path) -> None:
    row = kreplica("audit", "incidents", str(history), "-o", "json").document["incidents"][0]
    ended = kreplica("audit", "incident", row["id"][:6], str(history), "--cluster", "c1")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[:6] == [
        "WARNING broker-down of broker 2, proved",
        "cluster  prod (c1)",
        f"began    after {_screen(2)}, not after {_screen(3)}",
        f"ended    after {_screen(4)}, not after {_screen(5)}: it took 1 h to 3 h",
        "explains 12 findings in 5 partitions: 5 at-min-isr, 1 leader-imbalance, 5 under-replicated, 1 vanished-broker",
        "after    all is as it was",
    ]
    assert lines[7].split()[:2] == ["RULE", "SEVERITY"]
    document = kreplica("audit", "incident", row["id"], str(history), "-o", "json").document
    assert document["incident"] == row
    assert len(document["findings"]) == row["findings"]
    assert {one["valid_from"] for one in document["findings"]} == {at(3)}


def _screen(hours: float) -> str:
    return f"{moment(MARCH + round(hours * HOUR)):%Y-%m-%d %H:%M:%S} UTC"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["incident", "nosuch", "{history}"], "no incident nosuch in this history"),
        (["incident", "", "{history}"], "no incident  in this history"),
        (["incidents", "{history}", "--cluster", "nosuch"], "holds no cluster that is wanted"),
        (["incidents", "{history}/.."], "no history is there"),
        (["incidents", "{history}", "--since", "noon"], "--since noon is no moment"),
        (["incidents", "{history}", "--fail-on", "fatal"], "fatal"),
    ],
)
def test_what_cannot_be_answered_is_one_line(kreplica: Any, history: Path, words: list[str], said: str) -> None:
    ended = kreplica("audit", *(word.replace("{history}", str(history)) for word in words))
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_a_clean_history_and_one_with_a_damaged_month(kreplica: Any, tmp_path: Path) -> None:
    clean = PlantedCluster()
    clean.snapshot(8)
    ingest_into(LocalStorage(tmp_path / "clean"), [clean])
    ended = kreplica("audit", "incidents", str(tmp_path / "clean"))
    assert (ended.code, ended.out) == (0, "OK no incident in 1 cluster and 8 snapshots\n")
    month = sorted((tmp_path / "clean").glob("cluster=*/month=*"))[0]
    for path in (month / "manifests").iterdir():
        path.write_bytes(b"{")
    ended = kreplica("audit", "incidents", str(tmp_path / "clean"))
    assert ended.code == 5
    assert ended.out.startswith("INCOMPLETE no incident in 1 cluster and ")
    assert "1 month left out" in ended.out


def test_moments_of_the_fixture_are_hours() -> None:
    assert moment(MARCH + HOUR) - moment(MARCH) == timedelta(hours=1)


def test_a_baseline_leaves_the_incidents_that_it_has(kreplica: Any, history: Path, tmp_path: Path) -> None:
    asked = ("audit", "incidents", str(history))
    for form in ("json", "jsonl"):
        (tmp_path / "before").write_text(kreplica(*asked, "-o", form).out, encoding="utf-8")
        ended = kreplica(*asked, "--baseline", str(tmp_path / "before"), "-o", "json")
        assert (ended.code, ended.document["incidents"]) == (0, [])
        assert (ended.document["summary"]["incidents"], ended.document["summary"]["in_baseline"]) == (0, 2)
    (tmp_path / "before").write_text(kreplica(*asked, "--cluster", "test", "-o", "jsonl").out, encoding="utf-8")
    ended = kreplica(*asked, "--baseline", str(tmp_path / "before"))
    assert ended.code == 1
    said = "WARNING 1 new incident in 2 clusters and 25 snapshots, 12 findings explained, 1 in the baseline"
    assert ended.out.splitlines()[0] == said
    (tmp_path / "before").write_text("nothing", encoding="utf-8")
    ended = kreplica(*asked, "--baseline", str(tmp_path / "before"))
    assert (ended.code, "line 1; it is no answer of kreplica audit incidents: " in ended.err) == (2, True)
