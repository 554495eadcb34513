"""Rules of other packages, found by their entry point as an installed package declares it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from clusters.generated import partition, snapshot_of

from kreplica.advice.advise import OWN_RULES, advise, all_rules
from kreplica.advice.facts import ClusterFacts
from kreplica.errors import UsageError

MODULE = """
from kreplica.advice.model import Proposal, TopicRule
from kreplica.health.rules import Severity


def judge(topic, facts):
    return Proposal(None, "a better name", None) if topic.name == "orders" else None


RULE = TopicRule(
    name="NAME", setting="name", severity=Severity.CRITICAL, why="w", price="p", source="s", judge=judge
)
RULES = [RULE, "not a rule of advice"]
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Puts a package with one rule of the given name on the path."""

    def put(name: str) -> None:
        module = f"stranger_{name.replace('-', '_')}"
        (tmp_path / f"{module}.py").write_text(MODULE.replace("NAME", name))
        metadata = tmp_path / f"{module}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[kreplica.rules]\n{name} = {module}:RULES\n")
        monkeypatch.syspath_prepend(tmp_path)
        all_rules.cache_clear()

    yield put
    monkeypatch.undo()
    all_rules.cache_clear()


def test_own_rules_stand_alone() -> None:
    assert all_rules() == OWN_RULES


def test_a_rule_from_outside_judges_with_the_others(install: object) -> None:
    assert callable(install)
    install("naming")
    assert [rule.name for rule in all_rules()][len(OWN_RULES) :] == ["naming"]
    first = next(iter(advise(ClusterFacts(snapshot_of([partition("orders"), partition("payments")])))))
    assert (first.rule, first.name, first.recommended) == ("naming", "orders", "a better name")


def test_two_rules_of_one_name_are_refused(install: object) -> None:
    assert callable(install)
    install("rf-one")
    with pytest.raises(UsageError, match="two rules of advice are called rf-one"):
        all_rules()
