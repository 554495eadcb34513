"""The record of a sandbox, the lock beside it, and the reason of a failure in a log."""

from __future__ import annotations

import multiprocessing
import stat
import time
from pathlib import Path

import pytest

from kreplica.errors import SandboxError
from kreplica.sandbox import Listener, Mode, Role, SandboxSettings
from kreplica.sandbox.processes import ProcessIdentity, exclusive
from kreplica.sandbox.servers.logs import reason_of_failure
from kreplica.sandbox.servers.nodes import Node, SandboxState, load_state, recorded_ports, sandbox_names, save_state


def record(name: str, first_port: int) -> SandboxState:
    settings = SandboxSettings(
        name=name, mode=Mode.ZOOKEEPER, racks=("a",), listeners=(Listener.TLS_SCRAM_SHA_512,), users={"u": "p"}
    )
    node = Node(
        id=1,
        roles=(Role.BROKER, Role.CONTROLLER),
        ports={"PLAINTEXT": first_port, "CONTROLLER": first_port + 1},
        process=ProcessIdentity(7, "then"),
    )
    return SandboxState(settings=settings, java="/java", started_at=1.5, nodes={1: node}, cluster_id="c")


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    save_state(tmp_path / "one", record("one", 21000))
    assert load_state(tmp_path / "one") == record("one", 21000)
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["sandbox.json"]
    assert stat.S_IMODE((tmp_path / "one" / "sandbox.json").stat().st_mode) == 0o600, "it holds passwords"


def test_the_ports_of_every_sandbox_are_kept(tmp_path: Path) -> None:
    for name, port in (("one", 21000), ("two", 22000)):
        (tmp_path / name).mkdir()
        save_state(tmp_path / name, record(name, port))
    (tmp_path / "no-sandbox").mkdir()
    assert sandbox_names(tmp_path) == ["one", "two"]
    assert recorded_ports(tmp_path) == {21000, 21001, 22000, 22001}


def test_an_unknown_sandbox_is_named_with_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    save_state(tmp_path / "one", record("one", 21000))
    with pytest.raises(SandboxError, match="'tow'; there is: one"):
        load_state(tmp_path / "tow")


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "sandbox.json").write_text('{"settings": 3}')
    with pytest.raises(SandboxError, match=r"sandbox\.json"):
        load_state(tmp_path / "one")


def hold(path: Path, held: multiprocessing.synchronize.Event) -> None:
    with exclusive(path, 5, "the thing"):
        held.set()
        time.sleep(60)


def test_a_lock_is_waited_for_in_bounds_and_freed_by_the_death_of_its_holder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    held = context.Event()
    holder = context.Process(target=hold, args=(tmp_path / "lock", held), daemon=True)
    holder.start()
    assert held.wait(60)
    with pytest.raises(SandboxError, match="the thing is busy"), exclusive(tmp_path / "lock", 0.3, "the thing"):
        pass
    holder.kill()
    holder.join(10)
    with exclusive(tmp_path / "lock", 5, "the thing"):
        pass


CONFIG_EXCEPTION = "org.apache.kafka.common.config.ConfigException: Invalid value abc for num.io.threads"
LOG = f"""[2026-01-01 10:00:00,000] INFO starting (kafka.Kafka$)
[2026-01-01 10:00:01,000] ERROR Something small (kafka.log.LogManager)
[2026-01-01 10:00:02,000] ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)
java.lang.RuntimeException: wrapped
\tat kafka.Kafka.main(Kafka.scala)
Caused by: {CONFIG_EXCEPTION}
\tat x.y.Z(Z.java:1)
[2026-01-01 10:00:03,000] INFO bye (kafka.Kafka$)
"""


@pytest.mark.parametrize(
    ("log", "console", "reason"),
    [
        (
            LOG,
            "",
            f"java.lang.RuntimeException: wrapped <- {CONFIG_EXCEPTION}",
        ),
        (LOG.split("[2026-01-01 10:00:02", maxsplit=1)[0], "", "Something small"),
        ("", "Error occurred during initialization of VM\nToo small maximum heap\n", "Too small maximum heap"),
        ("", "", "it left no word in its log"),
    ],
)
def test_the_reason_of_a_failure_is_the_servers_own(tmp_path: Path, log: str, console: str, reason: str) -> None:
    (tmp_path / "server.log").write_text(log)
    (tmp_path / "console.log").write_text(console)
    assert reason_of_failure(tmp_path) == reason


def test_a_server_that_left_no_file_has_no_reason(tmp_path: Path) -> None:
    assert reason_of_failure(tmp_path) == "it left no word in its log"
