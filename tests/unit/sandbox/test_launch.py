"""Brokers that are waited for: one that is late is named, one that ended tells its own reason."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from kreplica.errors import SandboxError
from kreplica.sandbox.servers.nodes import Node, Role, SandboxState
from kreplica.sandbox.settings import SandboxSettings

launch = import_module("kreplica.sandbox.launch")  # the package has a function of that name


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> SandboxState:
    monkeypatch.setattr(launch, "START_SECONDS", 0.1)
    monkeypatch.setattr(launch, "_listens", lambda node: node.id != 2)
    monkeypatch.setattr(launch, "reason_of_failure", lambda folder: f"log of {folder.name}")
    nodes = {number: Node(id=number, roles=(Role.BROKER,), ports={"PLAINTEXT": 1}) for number in (1, 2)}
    return SandboxState(settings=SandboxSettings(name="x"), java="/java", started_at=0.0, nodes=nodes)


def test_a_broker_that_does_not_register_in_time_is_named(
    state: SandboxState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "_require_running", lambda *_: None)
    with pytest.raises(SandboxError, match=r"the brokers did not register within 0\.1 s") as caught:
        launch._wait_until_ready(tmp_path, state)
    assert caught.value.why == "server 2: log of broker-2"


def test_a_broker_that_ended_tells_its_own_reason(
    state: SandboxState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object) -> None:
        raise SandboxError("server 1 has ended", "no space")

    monkeypatch.setattr(launch, "_require_running", ended)
    with pytest.raises(SandboxError, match="server 1 has ended"):
        launch._wait_until_ready(tmp_path, state)
