"""Confirmation before a cluster is changed: a person is asked, a script has to say so itself."""

from __future__ import annotations

import pytest

from commands.shared.confirm import confirm
from kreplica.config.handle import ClusterHandle
from kreplica.errors import ChangeRefusedError

STAGING = ClusterHandle(name="staging", bootstrap_servers="127.0.0.1:1")
PRODUCTION = ClusterHandle(name="prod-eu", bootstrap_servers="127.0.0.1:1", production=True)


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)


@pytest.fixture
def nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("typer.confirm", "typer.prompt"):
        monkeypatch.setattr(name, lambda *_, **__: pytest.fail("a script has said what it wants"))


@pytest.mark.usefixtures("at_a_terminal")
def test_a_person_is_asked_unless_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(question: str, *, err: bool) -> bool:
        assert err
        asked.append(question)
        return len(asked) == 1

    monkeypatch.setattr("typer.confirm", answer)
    confirm(STAGING, "id", "run 2 elections", yes=True)
    assert asked == []
    confirm(STAGING, "id", "run 2 elections", yes=False)
    assert asked == ["run 2 elections on staging (id)?"]
    with pytest.raises(ChangeRefusedError, match="nothing was changed; not confirmed"):
        confirm(STAGING, "id", "run 2 elections", yes=False)


@pytest.mark.usefixtures("at_a_terminal")
@pytest.mark.parametrize(("typed", "agreed"), [("prod-eu", True), ("prod-eu ", True), ("yes", False), ("prod", False)])
def test_a_person_types_the_name_of_a_production_cluster(
    monkeypatch: pytest.MonkeyPatch, typed: str, agreed: bool
) -> None:
    asked: list[str] = []

    def answer(question: str, *, err: bool) -> str:
        assert err
        asked.append(question)
        return typed

    monkeypatch.setattr("typer.prompt", answer)
    if agreed:
        confirm(PRODUCTION, "id", "run 2 elections", yes=False)
    else:
        with pytest.raises(ChangeRefusedError, match="not confirmed"):
            confirm(PRODUCTION, "id", "run 2 elections", yes=False)
    assert asked == ["run 2 elections on prod-eu (id)? It is marked production: type its name"]


@pytest.mark.usefixtures("nobody_is_asked")
def test_a_script_is_not_asked(capsys: pytest.CaptureFixture[str]) -> None:
    confirm(STAGING, "id", "run 2 elections", yes=False)
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("nobody_is_asked")
def test_a_script_needs_yes_for_a_production_cluster() -> None:
    with pytest.raises(ChangeRefusedError, match=r"prod-eu is marked production and nobody is there.*; give --yes"):
        confirm(PRODUCTION, "id", "run 2 elections", yes=False)
    confirm(PRODUCTION, "id", "run 2 elections", yes=True)
