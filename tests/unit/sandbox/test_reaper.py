"""Sandboxes of a test process that was killed are removed by its reaper, and only they."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from waiting import until

from kreplica.sandbox import Role, SandboxSettings
from kreplica.sandbox.processes import ProcessState, send, spawn, state_of
from kreplica.sandbox.servers.nodes import Node, SandboxState, save_state

SUPPORT = Path(__file__).parents[2] / "support"
PARENT = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from real_clusters.reaper import start_reaper
start_reaper(Path(sys.argv[2]))
print("watched", flush=True)
time.sleep(60)
"""


def test_a_killed_process_leaves_no_sandbox_behind(tmp_path: Path) -> None:
    servers = {name: spawn([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path / name) for name in "ab"}
    for name, folder in (("a", tmp_path / "of-the-process" / "deep" / "a"), ("b", tmp_path / "elsewhere" / "b")):
        folder.mkdir(parents=True)
        node = Node(id=1, roles=(Role.BROKER,), ports={"PLAINTEXT": 1}, process=servers[name])
        save_state(folder, SandboxState(settings=SandboxSettings(name=name), java="/", started_at=0.0, nodes={1: node}))
    watched = [sys.executable, "-c", PARENT, str(SUPPORT), str(tmp_path / "of-the-process")]
    try:
        with subprocess.Popen(watched, stdout=subprocess.PIPE, text=True) as parent:
            assert parent.stdout is not None
            assert parent.stdout.readline() == "watched\n"
            assert state_of(servers["a"]) is not ProcessState.ENDED
            parent.kill()
        until(lambda: state_of(servers["a"]) is ProcessState.ENDED, "the server to be ended")
        until(lambda: not (tmp_path / "of-the-process" / "deep" / "a").exists(), "its folder to be removed")
        assert state_of(servers["b"]) is not ProcessState.ENDED
        assert (tmp_path / "elsewhere" / "b").exists()
    finally:
        for server in servers.values():
            send(server, 9)
