"""The executors of a standalone master: awaited before the first job, and watched while jobs run.

Without executors Spark waits in silence, for as long as it takes, for a worker that may never come.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kreplica.errors import UnreachableError
from kreplica.system.pool import Pool

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXECUTOR_SECONDS = 60.0
"""Longest time for the first executor to come."""
WITHOUT_SECONDS = 40.0
"""Longest time that a job goes on without an executor: the master starts another one within seconds, if it can."""
LOOK_SECONDS = 2.0
_DRIVER = "driver"


def await_executor(session: SparkSession, master: str) -> None:
    """Waits for an executor: a standalone master without free workers would let the first job wait forever."""
    deadline = time.monotonic() + EXECUTOR_SECONDS
    while not _executors(session):
        if time.monotonic() > deadline:
            raise UnreachableError(
                f"the Spark master {master} gave no executor within {EXECUTOR_SECONDS:.0f} s",
                "it has no worker, or none with free cores and memory",
                "start a worker, or ask for less: --spark-conf spark.executor.memory=512m",
            )
        time.sleep(0.2)


class ExecutorWatch:
    """Looks now and then whether executors are left, and stops all jobs when there have been none for too long.

    Args:
        session: The session, on a standalone master.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._over = threading.Event()
        self._hosts: list[str] = []
        self._since: float | None = None
        self._lost = ""

    def lost(self) -> str:
        """Tells in words that the executors are gone, once that has stopped the jobs; empty until then."""
        return self._lost

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Looks until the block ends."""
        Pool({"looking": self._look_on})  # left behind at the end: a JVM that hangs holds nobody up
        try:
            yield
        finally:
            self._over.set()

    def _look_on(self) -> None:
        while not self._over.wait(LOOK_SECONDS) and not self._lost:
            with contextlib.suppress(Exception):  # the JVM is gone, which those hear who wait for it
                self._look()

    def _look(self) -> None:
        hosts = _executors(self._session)
        # A job is asked for by the calls of other threads; one that allocates executors as it needs them has jobs, too.
        if hosts or not self._session.sparkContext.statusTracker().getActiveJobsIds():
            self._hosts, self._since = hosts or self._hosts, None
            return
        now = time.monotonic()
        self._since = self._since or now
        if now - self._since >= WITHOUT_SECONDS:
            last = f", the last on {self._hosts[-1]}" if self._hosts else ""
            self._lost = f"all its executors are gone{last}; the master gave no other for {now - self._since:.0f} s"
            self._session.sparkContext.cancelAllJobs()


def _executors(session: SparkSession) -> list[str]:
    """Host and port of each executor that is there."""
    context: Any = session.sparkContext._jsc
    every = context.sc().statusStore().executorList(True)
    some = [every.apply(place) for place in range(every.size())]
    return [one.hostPort() for one in some if one.id() != _DRIVER]
