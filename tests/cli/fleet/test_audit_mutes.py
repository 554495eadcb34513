"""kreplica audit mute, unmute and mutes: what they write, print and refuse."""

from __future__ import annotations

import re
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

RULES = '[[rules]]\nname = "thin-orders"\nseverity = "info"\nwhere = "true"\nmessage = "thin"\n'


def tables(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads((folder / "mutes.toml").read_text(encoding="utf-8"))["mutes"]
    return found


def test_a_rule_is_muted_listed_and_unmuted(kreplica: Any, tmp_path: Path) -> None:
    ended = kreplica("audit", "mute", "rf-one", "--until", "2099-01-01", "--topic", "scratch-*", "--cluster", "pr od")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "muted    rf-one of topics scratch-* in clusters pr od until 2099-01-01 00:00:00 UTC",
        f"file     {tmp_path / 'mutes.toml'}",
        "next     kreplica audit unmute rf-one --cluster 'pr od' --topic 'scratch-*'",
    ]
    assert "every cluster until 2099-01-02" in kreplica("audit", "mute", "offline", "--until", "2099-01-02").out
    (one, two) = kreplica("audit", "mutes", "-o", "json").document["mutes"]
    assert [one["at_most"], two["at_most"]] == [None, None]
    assert (one["rule"], one["cluster"], one["topic"], one["in_force"]) == ("rf-one", "pr od", "scratch-*", True)
    assert (two["rule"], two["cluster"], two["topic"]) == ("offline", None, None)
    listed = kreplica("audit", "mutes").out.splitlines()
    assert re.split(r"\s{2,}", listed[1])[:4] == ["rf-one", "pr od", "scratch-*", "2099-01-01 00:00:00 UTC"]
    ended = kreplica("audit", "unmute", "rf-one")
    assert ended.out.splitlines()[0] == "unmuted  rf-one of topics scratch-* in clusters pr od"
    assert [one["rule"] for one in tables(tmp_path)] == ["offline"]
    kreplica("audit", "unmute", "offline")
    assert kreplica("audit", "mutes").out == f"mutes    none in {tmp_path / 'mutes.toml'}\n"


def test_until_may_be_a_time_from_now_and_a_mute_is_replaced(kreplica: Any, tmp_path: Path) -> None:
    before = datetime.now(UTC)
    for until in ("1h", "7d"):
        assert kreplica("audit", "mute", "no-snapshot", "--until", until).code == 0
    (one,) = tables(tmp_path)
    assert before <= one["muted_at"] <= datetime.now(UTC)
    assert timedelta(0) <= one["until"] - before - timedelta(days=7) <= datetime.now(UTC) - before


def test_unmute_takes_those_of_a_cluster_and_a_topic(kreplica: Any, tmp_path: Path) -> None:
    for words in (["--cluster", "a*"], ["--cluster", "b"], ["--cluster", "b", "--topic", "t"]):
        kreplica("audit", "mute", "offline", "--until", "1d", *words)
    ended = kreplica("audit", "unmute", "offline", "--topic", "x y")
    assert ended.code == 2
    assert ended.err == (
        "error: offline has no mute with --topic 'x y'; its mutes: --cluster 'a*'; --cluster b; --cluster b --topic t;"
        " kreplica audit unmute offline --cluster 'a*'\n"
    )
    kreplica("audit", "unmute", "offline", "--cluster", "b", "--topic", "t")
    assert [(one["cluster"], one.get("topic")) for one in tables(tmp_path)] == [("a*", None), ("b", None)]
    kreplica("audit", "unmute", "offline", "--cluster", "b")
    assert [one["cluster"] for one in tables(tmp_path)] == ["a*"]


def test_a_mute_says_how_many_findings_it_bears(kreplica: Any, tmp_path: Path) -> None:
    ended = kreplica("audit", "mute", "offline", "--until", "1d", "--at-most", "40")
    assert "offline in every cluster, 40 findings at once at most until " in ended.out
    assert [one["at_most"] for one in tables(tmp_path)] == [40]
    assert kreplica("audit", "mutes", "-o", "json").document["mutes"][0]["at_most"] == 40


def test_a_kind_of_incidents_is_muted_as_a_rule_is(kreplica: Any, tmp_path: Path) -> None:
    ended = kreplica("audit", "mute", "broker-down", "--until", "1d", "--cluster", "prod", "--at-most", "2")
    assert "broker-down in clusters prod, 2 incidents at once at most until " in ended.out
    assert [one["rule"] for one in tables(tmp_path)] == ["broker-down"]
    assert kreplica("audit", "unmute", "broker-down").code == 0


def test_a_rule_of_a_file_is_muted(kreplica: Any, tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(RULES, encoding="utf-8")
    words = ("audit", "mute", "thin-orders", "--until", "1d")
    assert kreplica(*words).code == 2
    assert kreplica(*words, "--rules", str(tmp_path / "rules.toml")).code == 0
    assert [one["rule"] for one in tables(tmp_path)] == ["thin-orders"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mute", "under-replcated", "--until", "7d"], "no rule under-replcated; did you mean under-replicated"),
        (["mute", "brokr-down", "--until", "7d"], "no rule brokr-down; did you mean broker-down"),
        (["mute", "rolling-restart", "--until", "7d"], "rolling-restart needs no mute"),
        (["mute", "broker-gone", "--until", "7d"], "no rule broker-gone"),  # it is told as broker-down
        (["mute", "broker-down", "--until", "7d", "--topic", "x"], "--topic goes with a rule"),
        (["mute", "offline", "--until", "2020-01-01"], "--until 2020-01-01 is over"),
        (["mute", "offline", "--until", "0d"], "--until 0d is over"),
        (["mute", "offline", "--until", "soon"], "--until soon is no moment"),
        (["mute", "offline"], "missing option '--until'"),
        (["mute", "offline", "--until", "1d", "--at-most", "0"], "a mute cannot bear 0 findings"),
        (["mute", "offline", "--until", "1d", "--topic", "\udcff"], "the pattern is no text"),
        (["mute", "offline", "--until", "1d", "--topic", ""], "--topic is empty"),
        (["mute", "offline", "--until", "1d", "--cluster", ""], "--cluster is empty"),
        (["unmute", "rf-on"], "mutes.toml; nothing is muted"),
    ],
)
def test_what_cannot_be_muted_is_refused_and_nothing_is_written(
    kreplica: Any, tmp_path: Path, words: list[str], said: str
) -> None:
    ended = kreplica("audit", *words)
    assert (ended.code, said in ended.err) == (2, True), ended.err
    assert not (tmp_path / "mutes.toml").exists()


def test_unmute_names_the_nearest_that_is_muted(kreplica: Any) -> None:
    kreplica("audit", "mute", "rf-one", "--until", "1d")
    assert "did you mean rf-one?" in kreplica("audit", "unmute", "rf-on").err


def test_unmute_says_what_is_muted_and_where(kreplica: Any, tmp_path: Path) -> None:
    kreplica("audit", "mute", "rf-one", "--until", "1d")
    said = f"error: offline is not muted in {tmp_path / 'mutes.toml'}; muted are rf-one\n"
    assert kreplica("audit", "unmute", "offline").err == said


def test_a_file_that_cannot_be_read_stops_an_audit_before_spark_starts(kreplica: Any, tmp_path: Path) -> None:
    (tmp_path / "mutes.toml").write_text("mutes = 3", encoding="utf-8")
    for words in (["mutes"], ["unmute", "offline"], ["mute", "offline", "--until", "1d"], ["sample"]):
        ended = kreplica("audit", *words)
        assert (ended.code, f"cannot read mutes file {tmp_path / 'mutes.toml'}; mutes is no list" in ended.err) == (
            2,
            True,
        )
    ended = kreplica("audit", "sample", "--no-mutes", "--rule", "nope")
    assert "no rule nope" in ended.err
