"""kreplica audit incidents and kreplica audit incident: what they say, in every form, and what they end with."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from histories.clusters import PlantedCluster, ingest_into
from histories.folders import moment
from histories.observations import HOUR, MARCH
from planted.incidents import larger, restart, start, stop

from kreplica.system.stores.storage import LocalStorage


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
    assert lines[6].split()[:3] == ["CLUSTER", "WORST", "INCIDENTS"]
    assert [line.split()[:3] for line in lines[7:9]] == [["prod", "warning", "1"], ["test", "info", "1"]]
    assert lines[-1] == f"next     kreplica audit incident {incident} {history} --cluster c1"


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


@pytest.mark.parametrize("words", [["--since", at(100)], ["--until", at(-1)]])
def test_a_time_that_no_snapshot_tells_of_is_no_all_clear(kreplica: Any, history: Path, words: list[str]) -> None:
    ended = kreplica("audit", "incidents", str(history), *words)
    assert ended.code == 2
    assert "holds no snapshot that is wanted" in ended.err
    assert "--since, --until" in ended.err


def test_of_a_time_its_snapshots_are_counted(kreplica: Any, history: Path) -> None:
    words = ("audit", "incidents", str(history), "--cluster", "prod", "--since", at(1), "--until", at(2))
    assert kreplica(*words).out == "OK no incident in 1 cluster and 2 snapshots\n"


def test_a_cluster_that_is_not_there_is_no_all_clear(kreplica: Any, history: Path) -> None:
    ended = kreplica("audit", "incidents", str(history), "--cluster", "nope")
    assert ended.code == 2
    assert "holds no cluster that is wanted" in ended.err


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
        f"after    all is as it was, at {_screen(7)}",
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
        (
            ["incident", "nosuch", "{history}"],
            "{history} holds no incident nosuch; kreplica audit incidents {history} l",
        ),
        (
            ["incident", "", "{history}"],
            "the id of the incident is empty; kreplica audit incidents {history} lists them",
        ),
        (["incidents", "{history}", "--cluster", "nosuch"], "holds no cluster that is wanted"),
        (["incidents", "{history}/.."], "no history is there"),
        (["incidents", "{history}", "--since", "noon"], "--since noon is no moment"),
        (["incidents", "{history}", "--fail-on", "fatal"], "fatal"),
        (["incidents", "{history}", "--since", "2026-03-02", "--until", "2026-03-01"], "is later than --until"),
        (["incidens", "{history}"], "there is no folder incidens; did you mean kreplica audit incidents?"),
    ],
)
def test_what_cannot_be_answered_is_one_line(kreplica: Any, history: Path, words: list[str], said: str) -> None:
    ended = kreplica("audit", *(word.replace("{history}", str(history)) for word in words))
    assert (ended.code, ended.out) == (2, "")
    assert said.replace("{history}", str(history)) in ended.err
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


def mute(folder: Path, monkeypatch: pytest.MonkeyPatch, *mutes: str, made: float = 1) -> None:
    """Writes mutes that were made after an hour of the history, and are in force."""
    lines = [f"[[mutes]]\n{one}\nuntil = 2099-01-01T00:00:00Z\nmuted_at = {at(made)}\n" for one in mutes]
    (folder / "mutes.toml").write_text("".join(lines), encoding="utf-8")
    monkeypatch.setenv("KREPLICA_CONFIG", str(folder / "contexts.toml"))


BEHIND = ("at-min-isr", "leader-imbalance", "under-replicated", "vanished-broker")


def test_muted_findings_do_not_count_and_an_incident_of_them_alone_is_told_as_muted(
    kreplica: Any, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = kreplica("audit", "incidents", str(history), "-o", "json").document["incidents"][0]
    mute(tmp_path, monkeypatch, 'rule = "under-replicated"')
    some = kreplica("audit", "incidents", str(history), "-o", "json")
    row = some.document["incidents"][0]
    assert (some.code, row["id"], row["findings"], row["muted"]) == (1, every["id"], 7, 5)
    assert sorted(row["by_rule"]) == [rule for rule in BEHIND if rule != "under-replicated"]
    mute(tmp_path, monkeypatch, *(f'rule = "{rule}"\ncluster = "pr*"' for rule in BEHIND))
    ended = kreplica("audit", "incidents", str(history), "-o", "json")
    assert (ended.code, [one["kind"] for one in ended.document["incidents"]]) == (0, ["rolling-restart"])
    summary = ended.document["summary"]
    assert (summary["incidents"], summary["muted"], summary["muted_findings"]) == (0, 1, 12)
    assert [(one["rule"], one["broken"]) for one in summary["mutes"]] == [(rule, False) for rule in BEHIND]
    lines = kreplica("audit", "incidents", str(history)).out.splitlines()
    assert lines[0] == "OK no incident in 2 clusters and 25 snapshots, 1 planned, 1 muted"
    assert "muted    5 findings of at-min-isr in prod, until 2099-01-01 00:00:00" in lines
    assert kreplica("audit", "incidents", str(history), "--no-mutes").code == 1
    shown = kreplica("audit", "incident", every["id"], str(history))
    assert shown.out.splitlines()[0] == "MUTED broker-down of broker 2, proved"
    assert "explains 12 findings muted" in shown.out
    rows = kreplica("audit", "incident", every["id"], str(history), "-o", "json").document["findings"]
    assert [row["muted"] for row in rows] == [True] * 12


def test_an_incident_of_a_kind_that_is_muted_counts_as_muted_with_all_behind_it(
    kreplica: Any, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = kreplica("audit", "incidents", str(history), "-o", "json").document["incidents"]
    mute(tmp_path, monkeypatch, 'rule = "broker-down"\ncluster = "pr*"', 'rule = "slow-leader"')
    ended = kreplica("audit", "incidents", str(history), "-o", "json")
    assert (ended.code, ended.document["incidents"]) == (0, every[1:])  # the restart
    summary = ended.document["summary"]
    assert [summary[name] for name in ("incidents", "muted", "muted_findings", "explained")] == [
        *(0, 1, 12, every[1]["findings"])
    ]
    (told,) = summary["mutes"]
    assert [told[name] for name in ("rule", "cluster", "of", "findings", "broken")] == [
        *("broker-down", "c1", "incident", 1, False)
    ]
    lines = kreplica("audit", "incidents", str(history)).out.splitlines()
    assert lines[0] == "OK no incident in 2 clusters and 25 snapshots, 1 planned, 1 muted"
    assert "muted    1 incident of broker-down in prod, until 2099-01-01 00:00:00" in lines
    shown = kreplica("audit", "incident", every[0]["id"], str(history))
    assert shown.out.splitlines()[0] == "MUTED broker-down of broker 2, proved"
    document = kreplica("audit", "incident", every[0]["id"], str(history), "-o", "json").document
    assert [row["muted"] for row in document["findings"]] == [True] * 12
    assert (document["incident"]["findings"], document["incident"]["muted"]) == (0, 12)
    mute(tmp_path, monkeypatch, 'rule = "broker-down"\ncluster = "test"')
    assert kreplica("audit", "incidents", str(history)).code == 1
    assert kreplica("audit", "incidents", str(history), "--no-mutes").code == 1


@pytest.mark.parametrize(("worse", "code"), [(False, 0), (True, 1)])
def test_a_mute_of_a_kind_is_broken_when_there_are_more_at_once_or_graver_ones(
    kreplica: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, worse: bool, code: int
) -> None:
    """Made at hour 4, when one broker had been down; after it one is down again, or another beside the first."""
    cluster = larger()
    cluster.snapshot(2)
    stop(cluster, 1)
    cluster.snapshot(1 if not worse else 4)
    if not worse:
        start(cluster, 1)
        cluster.snapshot(3)
    stop(cluster, 4)
    cluster.snapshot(2)
    ingest_into(LocalStorage(tmp_path / "history"), [cluster])
    mute(tmp_path, monkeypatch, 'rule = "broker-down"', made=4)
    ended = kreplica("audit", "incidents", str(tmp_path / "history"), "-o", "json")
    (told,) = ended.document["summary"]["mutes"]
    assert (ended.code, told["findings"], told["broken"]) == (code, 2, worse)
    assert (told["before"]["at_once"], told["after"]["at_once"]) == (1, 2 if worse else 1)
    said = " ".join(kreplica("audit", "incidents", str(tmp_path / "history")).out.split())
    assert ("broker-down in prod got worse and counts again: 2 at once since" in said) == worse


def test_a_mute_that_bears_fewer_is_broken_and_its_findings_count(
    kreplica: Any, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mute(tmp_path, monkeypatch, 'rule = "under-replicated"\ncluster = "prod"\nat_most = 4')
    ended = kreplica("audit", "incidents", str(history))
    made = at(1).replace("T", " ")[:19]
    said = f"under-replicated in prod got worse and counts again: 5 at once since {made}, at most 4 muted"
    assert (ended.code, said in " ".join(ended.out.split())) == (1, True)
    assert "12 findings explained" in ended.out


def test_a_cluster_that_is_not_as_its_group_is_told_behind_the_change_that_made_it_so(
    kreplica: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clusters = [PlantedCluster(label=f"c{number}", name=f"prod-{number}") for number in range(3)]
    for number, cluster in enumerate(clusters):
        cluster.set("topic", "orders", "min.insync.replicas", "2")
        cluster.set("topic", "audit", "retention.ms", "2" if number == 1 else "1")
        cluster.snapshot(3)
        if number == 0:
            cluster.set("topic", "orders", "min.insync.replicas", "4")  # no write is taken any more
            for partition in range(3):
                cluster.change("orders", partition, min_isr=4)
        cluster.snapshot(3)
    ingest_into(LocalStorage(tmp_path / "history"), clusters)
    lines = [f"[contexts.prod-{number}]\nbootstrap_servers = 'h:1'\ntags = ['eu']\n" for number in range(3)]
    (tmp_path / "contexts.toml").write_text("".join(lines), encoding="utf-8")
    monkeypatch.setenv("KREPLICA_CONFIG", str(tmp_path / "contexts.toml"))
    document = kreplica("audit", "incidents", str(tmp_path / "history"), "--group", "eu", "-o", "json").document
    (incident,) = document["incidents"]
    assert (incident["kind"], incident["valid_from"], incident["by_rule"]["cluster-drift"]) == ("setting", at(3), 1)
    assert document["summary"]["left_over"] == {"cluster-drift": 1}  # retention.ms broke nothing, and stood before
    rows = kreplica("audit", "incident", incident["id"], str(tmp_path / "history"), "--group", "eu").out
    assert "min.insync.replicas of topic orders is 4 here, 2 in 2 of 3 clusters of group eu" in rows
    alone = kreplica("audit", "incidents", str(tmp_path / "history"), "-o", "json").document
    assert "cluster-drift" not in alone["incidents"][0]["by_rule"]
