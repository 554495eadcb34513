"""Helpers of tests of causes on real clusters: their cluster, describe's answer, its causes of missing replicas."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from itertools import permutations
from typing import Any

from kreplica.sandbox import Mode, Sandbox

TRIPLES = [list(replicas) for replicas in permutations((1, 2, 3, 4), 3)]
"""Every way for a partition to have three of the four brokers."""


def two_racks(
    factory: Callable[..., Sandbox], name: str, broker_settings: Mapping[str, str], log_dirs: int = 1
) -> Sandbox:
    """Four brokers in two racks, and a controller of its own: what befalls a broker takes no controller along."""
    settings = {"brokers": 4, "controllers": 1, "racks": ("a", "b"), "log_dirs": log_dirs}
    return factory(name=name, mode=Mode.KRAFT, broker_settings=broker_settings, **settings)


def describe(sandbox: Sandbox, *options: str) -> tuple[str, str]:
    """What describe prints on both streams."""
    command = [sys.executable, "-m", "kreplica", "describe", "--bootstrap-server", sandbox.live_bootstrap_servers()]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=90, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1, 5), done.stderr
    return done.stdout, done.stderr


def document(sandbox: Sandbox, *options: str) -> dict[str, Any]:
    """Its answer as JSON."""
    found: dict[str, Any] = json.loads(describe(sandbox, *options, "-o", "json")[0])
    return found


def causes(found: dict[str, Any]) -> dict[tuple[str, int, int], str]:
    """Kind of the cause of each missing replica that has one."""
    return {
        (row["topic"], row["partition"], cause["broker"]): cause["kind"]
        for row in found["partitions"]
        for cause in row["causes"]
    }


def missing(found: dict[str, Any]) -> set[tuple[str, int, int]]:
    """Every missing replica: topic, partition, broker."""
    return {(row["topic"], row["partition"], broker) for row in found["partitions"] for broker in row["missing"]}
