"""The line above a sandbox's servers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from commands.sandbox.answer import _title
from kreplica.sandbox import Mode

TITLE = "try: Apache Kafka 4.3.1 (kraft), {}, --bootstrap-server 127.0.0.1:9092{}"


@pytest.mark.parametrize(
    ("brokers", "ready", "told"),
    [
        ((1,), True, TITLE.format("1 broker", "")),
        ((1, 2), True, TITLE.format("2 brokers", "")),
        ((1,), False, TITLE.format("1 broker", ", its start was not finished: kreplica sandbox stop")),
    ],
    ids=["one", "several", "unfinished"],
)
def test_what_a_sandbox_is(brokers: tuple[int, ...], ready: bool, told: str) -> None:
    sandbox: Any = SimpleNamespace(
        name="try",
        kafka_version="4.3.1",
        mode=Mode.KRAFT,
        broker_ids=brokers,
        bootstrap_servers="127.0.0.1:9092",
        state=SimpleNamespace(ready=ready),
    )
    assert _title(sandbox) == told
