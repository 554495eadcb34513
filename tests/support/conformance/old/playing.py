"""Plays a row on an old release, on a cluster of its own with proxies between its brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from conformance.old.rows import OldRow
from conformance.old.sides import OldEngine, OldReal
from conformance.play import Result, cast_of, judge
from conformance.reading import Reading
from kreplica.sandbox import Links, Mode, Sandbox, SandboxSettings, start
from kreplica.sandbox.servers.properties import server_properties

TOPIC = "row"
CHECKPOINTS = {
    "replica.high.watermark.checkpoint.interval.ms": "100",
    "log.flush.offset.checkpoint.interval.ms": "100",
}


def version_played(old: OldRow, release: str) -> str:
    """The engine's name of a release in the mode of a row."""
    return f"{release}-kraft" if "kraft" in old.row.modes else release


def foretold(old: OldRow, release: str, servers: Mapping[str, str]) -> Iterator[Reading]:
    """The engine's readings of a row on a release."""
    return OldEngine(old.row, TOPIC, version_played(old, release), servers, watched=old.watched).readings()


def play_old(old: OldRow, release: str, home: Path | None = None) -> Result:
    """Plays one row on one release.

    Raises:
        SandboxError: The cluster does not start.
    """
    row, name = old.row, f"{old.row.name}-{release}"[:40]
    (mode,) = map(Mode, row.modes)
    controllers = row.controllers if mode is Mode.KRAFT else 0
    with Links(name, row.brokers, home=home, controllers=controllers) as links:
        settings = SandboxSettings(
            name=name,
            mode=mode,
            release=release,
            brokers=row.brokers,
            controllers=controllers,
            advertised_ports=links.ports,
            broker_settings={**CHECKPOINTS, **old.servers},
        )
        with start(settings, home) as sandbox:
            return _played(old, sandbox, links)


def _played(old: OldRow, sandbox: Sandbox, links: Links) -> Result:
    row, cast = old.row, cast_of(sandbox, old.row)
    broker = sandbox.state.nodes[cast.real[1]]
    servers = server_properties(sandbox.settings, sandbox.state.nodes, broker.id, sandbox.folder / broker.folder_name)
    predicted = foretold(old, sandbox.kafka_version, servers)
    brokers = OldReal(sandbox, row, TOPIC, cast, links, old.watched)
    seen = [brokers.read(next(predicted))]
    for step, reading in zip(row.steps, predicted, strict=True):
        if seen[-1].differences:
            break  # everything later would differ, too
        brokers.do(step.do)
        seen.append(brokers.read(reading, step.holds))
    return judge(row, seen)
