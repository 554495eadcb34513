"""kreplica whatif models and model as a user runs them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Kreplica = Callable[..., Any]


def test_the_list_names_every_model_that_prove_takes(kreplica: Kreplica) -> None:
    listed = json.loads(kreplica("whatif", "models", "--mutants", "-o", "json").out)
    refused = kreplica("whatif", "prove", "--model", "nothing-like-it")
    assert refused.code == 2
    assert {row["model"] for row in listed["models"]} >= {"kip-320", "kip-320-m7", "consumer-group"}
    done = kreplica("whatif", "models")
    assert "kip-966" in done.out
    assert "kip-320-m1" not in done.out
    assert "models without a guard: kreplica whatif models --mutants" in done.out


def test_a_model_shows_what_prove_can_be_asked(kreplica: Kreplica) -> None:
    done = kreplica("whatif", "model", "quorum", "-o", "json")
    document = json.loads(done.out)
    assert (done.code, document["schema"]) == (0, "kreplica/whatif-model/v1")
    small = {"--stops": "0", "--fences": "0", "--epochs": "1", "--log": "1"}
    bounds = {row["option"]: row["default"] for row in document["bounds"]} | small
    options = [word for pair in bounds.items() for word in pair]
    asked = [word for one in document["model"]["properties"] for word in ("--invariant", one["name"])]
    proved = kreplica("whatif", "prove", "--model", "quorum", *options, *asked, "-o", "json")
    assert proved.code == 0, proved.err
    verdict = json.loads(proved.out)["verdict"]
    assert [one["name"] for one in verdict["invariants"]] == [one["name"] for one in document["model"]["properties"]]


def test_a_model_that_is_not_there_is_refused_with_the_nearest(kreplica: Kreplica) -> None:
    done = kreplica("whatif", "model", "kip-32")
    assert done.code == 2
    assert "there is no model 'kip-32'; did you mean kip-320" in done.err


@pytest.mark.parametrize("model", ["kraft", "settings-4.1", "retries", "commit-after"])
def test_a_model_of_what_is_kept_needs_a_record(kreplica: Kreplica, model: str) -> None:
    done = kreplica("whatif", "prove", "--model", model, "--records", "0")
    assert (done.code, done.err) == (
        2,
        f"error: {model} needs a record that is written, to tell whether it is kept; --records 1\n",
    )
