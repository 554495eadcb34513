"""Fixtures, profiles of generated examples, and the assertion that every test has to reach."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from kreplica.config import secrets

if TYPE_CHECKING:
    from xdist.scheduler import Scheduling

SUPPORT = Path(__file__).parent / "support"
sys.path.insert(0, str(SUPPORT))
pytest.register_assert_rewrite(*(path.stem for path in SUPPORT.iterdir()))
pytest_plugins = ["suite.assertion_counter"]

ROOT = Path(__file__).parent.parent
PROGRAM = Path(sys.executable).with_name("kreplica")
HANGS_AFTER = {"spark": 900, "kafka": 600}
"""Seconds after which a test that has no limit of its own is taken to hang: three processes share two processors."""
LONGEST_NAME = 16
"""Bytes of a parameter that may stand in the name of a test; the shortest gzip file has 20."""


def pytest_configure() -> None:
    """Lets Ctrl-C reach the programs that tests start: a shell that runs this in the background has it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Names the process of a test where several run side by side: what is dear to start is started once."""
    for marker, seconds in HANGS_AFTER.items():
        if item.get_closest_marker(marker) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(seconds))
    group = _shares(item)
    if group is not None:
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    """Gives a process file after file, where ``--dist loadgroup`` gives it test after test."""
    from suite.files_in_hand import FilesInHand

    return FilesInHand(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_sessionstart() -> None:
    """Leaves garbage alone while tests are collected: there is hardly any."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Has garbage be looked for in what tests make alone, not each time in the millions of objects of eleven thousand
    tests and of imported modules: that took a quarter of the processor time of tests that are plain Python.
    """
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    """Gives the objects of imported modules back, so that they are taken apart when the process ends."""
    gc.unfreeze()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names long bytes by their length: what is packed at import has the time in it, and all processes must agree."""
    return f"{argname} of {len(val)} bytes" if isinstance(val, bytes) and len(val) > LONGEST_NAME else None


def _shares(item: pytest.Item) -> str | None:
    """What a test shares with others: the Spark session, a real cluster, an installed wheel; None for nothing dear."""
    if item.get_closest_marker("kafka") and (cluster := _cluster_of(item)):
        return cluster
    if item.get_closest_marker("spark"):
        return "spark"
    folders = [folder.name for folder in item.path.parents]
    return item.path.stem if "kafka" in folders[:2] else folders[0] if folders[0] == "packaging" else None


def _cluster_of(item: pytest.Item) -> str | None:
    """The cluster of a mode that a test runs on: the one of the whole run, or one that its file starts for itself."""
    fixtures = {*getattr(item, "fixturenames", ())}
    parameters: Mapping[str, object] = getattr(getattr(item, "callspec", None), "params", {})
    names = {*fixtures, *map(str, parameters.values())}
    for mode in ("kraft", "zookeeper"):
        if any(name.startswith(f"{mode}_") for name in names):
            return mode
        if mode in names:
            return f"{item.path.stem}-{mode}" if "running" in parameters or mode in fixtures else mode
    return None


def _profiles() -> None:
    """Numbers of generated examples: a change is judged by the same ones each time, ``make search`` draws new ones.

    No time limit for one example: a loaded machine is no failure of what is tested. ``make mutants`` wants to know that
    a test fails, not the smallest example that it fails on. On a second Python few examples tell whether the code of a
    test runs there: that it is right, more of them tell on the first.
    """
    same = settings(
        deadline=None,
        print_blob=True,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.register_profile("test", same, max_examples=50)
    settings.register_profile("check", same, max_examples=25)
    settings.register_profile("other-python", same, max_examples=10)
    settings.register_profile("mutants", same, max_examples=25, phases=[Phase.explicit, Phase.generate])
    many = int(os.environ.get("EXAMPLES", "1000"))
    settings.register_profile("search", same, max_examples=many, derandomize=False)
    settings.load_profile("test")


_profiles()

RunCli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def no_secret_of_another_test() -> Iterator[None]:
    """A process remembers the secrets it has seen; here one process plays many."""
    yield
    secrets.forget()


@pytest.fixture(scope="session")
def no_sandbox_outlives_this_process(tmp_path_factory: pytest.TempPathFactory) -> None:
    """For what starts sandboxes: where this process cannot stop them, because it was killed, another does."""
    from real_clusters.reaper import start_reaper

    start_reaper(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's folder."""
    return ROOT


@pytest.fixture
def run_cli(tmp_path: Path) -> RunCli:
    """Runs the installed console script: ``run_cli("describe", "--dump", "sample", stdin="", env={}, timeout=60)``.

    Its folder is an empty one, it sees no contexts file of the user, and its streams are no terminal.
    """
    return _cli_in(tmp_path)


@pytest.fixture(scope="session")
def audited(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """``kreplica audit`` of the packaged fleet by all rules, as JSON: several tests look at the one answer."""
    fleet = ROOT / "kreplica" / "data" / "fleet"
    return _cli_in(tmp_path_factory.mktemp("audited"))("audit", fleet, "-o", "json", timeout=600)


def _cli_in(folder: Path) -> RunCli:
    def run(
        *arguments: str | Path,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        cwd: Path = folder,
        timeout: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PROGRAM, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=cwd,
            env={**os.environ, "XDG_CONFIG_HOME": str(folder / "no-config"), **(env or {})},
            timeout=timeout,
            check=False,
        )

    return run
