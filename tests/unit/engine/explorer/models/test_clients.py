"""Models of clients: the fewest steps to what goes wrong, told by hand, and what holds."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from kreplica.engine.explorer.explored import retraced
from kreplica.engine.explorer.model import successors
from kreplica.engine.explorer.models.clients.bounds import ClientBounds
from kreplica.engine.explorer.models.clients.models import TABLES, model_of, seen
from kreplica.engine.explorer.models.one_partition.state import log_end
from kreplica.engine.explorer.plain_search import search

ROOT = Path(__file__).resolve().parents[5]
PLENTY = 2**30

WAYS = {
    ("retries", "no-duplicate"): ["send", "break", "arrive-late", "send-again", "arrive"],
    ("retries", "in-order"): ["send", "send", "refuse", "arrive", "send-again", "arrive"],
    ("retries-one", "no-duplicate"): ["send", "break", "arrive-late", "send-again", "arrive"],
    ("commit-before", "nothing-skipped"): ["poll", "commit", "crash"],
    ("commit-before", "commit-behind"): ["poll", "commit"],
    ("commit-after", "processed-once"): ["poll", "process", "crash", "poll", "process"],
    ("commit-auto", "processed-once"): ["poll", "process", "crash", "poll", "process"],
    ("commit-handed-over", "commit-behind"): ["poll", "poll"],
    ("commit-handed-over", "nothing-skipped"): ["poll", "poll", "crash"],
    ("commit-handed-over", "processed-once"): ["poll", "process", "crash", "poll", "process"],
    ("end-txn-1", "ends-as-asked"): ["write", "end", "delay", "arrive", "write", "arrive-late"],
    ("end-txn-1", "not-half-visible"): ["write", "end", "delay", "arrive", "write", "arrive-late", "write"],
}
"""With two records or transactions and one fault: a step for each request, or poll, that the story needs."""


@pytest.mark.parametrize("name", TABLES)
def test_what_goes_wrong_with_one_fault_does_in_the_fewest_steps(name: str) -> None:
    model = model_of(name, ClientBounds(2, 1))
    found = search(model, model.invariants, PLENTY)
    steps = {invariant: len(retraced(model, way)) for invariant, way in found.broken.items()}
    assert found.complete or len(steps) == len(model.invariants)
    assert steps == {invariant: len(way) for (of, invariant), way in WAYS.items() if of == name}


@pytest.mark.parametrize("name", TABLES)
def test_without_a_fault_only_what_commits_early_goes_wrong(name: str) -> None:
    model = model_of(name, ClientBounds(2, 0))
    broken = set(search(model, model.invariants, PLENTY).broken)
    assert broken == ({"commit-behind"} if name in ("commit-before", "commit-handed-over") else set())


@pytest.mark.parametrize("name", ["retries-idempotent", "end-txn-2"])
def test_what_guards_holds_with_more_faults(name: str) -> None:
    model = model_of(name, ClientBounds(3 if name == "end-txn-2" else 2, 2))
    found = search(model, model.invariants, PLENTY)
    assert found.complete
    assert not found.broken


@pytest.mark.parametrize("name", TABLES)
def test_a_state_is_shown_with_its_log(name: str) -> None:
    model = model_of(name, ClientBounds(2, 1))
    state = model.initial
    for _ in range(3):
        state = next(iter(successors(model, state))).state
    assert log_end(seen(state), 0) > 0


@pytest.mark.one_python
def test_the_table_of_the_page_is_what_the_models_say_and_links_to_every_run(tmp_path: Path) -> None:
    """Each linked file is written as it is, which plays it; none is left over."""
    sys.path.insert(0, str(ROOT / "docs" / "generator"))
    try:
        import client_table
    finally:
        sys.path.pop(0)
    text = (ROOT / "docs" / "losses.md").read_text(encoding="utf-8")
    shown = text.partition(client_table.BEGIN)[2].partition(client_table.END)[0]
    assert shown.strip() == client_table.table(tmp_path).strip()
    written = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    others = ("settings-", "consumer-group-")
    kept = (file for file in (ROOT / "docs" / "losses").iterdir() if not file.name.startswith(others))
    assert written == {file.name: file.read_bytes() for file in kept}
    assert set(written) == set(re.findall(r"\(losses/(.+?)\)", shown))
