"""Conversations with a coordinator of the simulator: what is asked is answered at once, without a network between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kreplica.engine.settings import Value
from kreplica.engine.setup import MILLISECOND, SECOND, TopicSetup, cluster
from kreplica.engine.simulator.world import build
from kreplica.engine.trace import Trace
from kreplica.engine.versions.supported import version_named


class OneBroker:
    """A simulated cluster of one broker, up and idle; its time runs while something is waited for."""

    def __init__(self, version: str, *topics: TopicSetup, **settings: Value) -> None:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self._world = build(cluster(1, *topics, settings=named), version_named(version), 1, Trace())
        self._run(10 * SECOND)
        self.broker = self._world.brokers[1]

    def _run(self, longer: int) -> None:
        self._world.scheduler.run(self._world.scheduler.now + longer)

    def ask(self, handler: Callable[..., None], *arguments: object) -> Callable[[], tuple[Any, ...]]:
        """Asks; what is returned waits for the answer."""
        heard: list[tuple[Any, ...]] = []
        handler(*arguments, lambda *values: heard.append(values))

        def answer() -> tuple[Any, ...]:
            self.wait(lambda: bool(heard), f"an answer of {handler.__name__}")
            return heard[0]

        return answer

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Lets time pass until the condition holds, a minute at most."""
        for _ in range(600):
            if condition():
                return
            self._run(100 * MILLISECOND)
        raise AssertionError(f"waited a minute in vain for {what}")
