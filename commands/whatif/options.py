"""Options that the commands on scenarios share."""

from __future__ import annotations

from typing import Annotated

import typer

ScenarioArgument = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="Name of a scenario; kreplica whatif list has them.")
]
OptionalScenarioArgument = Annotated[
    str | None,
    typer.Argument(metavar="SCENARIO", help="Name of a scenario; kreplica whatif list has them. Or --from, or --plan."),
]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="PATH", help="Instead of a scenario, the cluster of a dump, as --dump takes it elsewhere."
    ),
]
VersionOption = Annotated[
    str | None,
    typer.Option(
        "--kafka-version",
        metavar="VERSION",
        help="Kafka's version, such as 0.11 or 3.9-kraft.  [default: the scenario's first]",
    ),
]
SEED_HELP = "Where chance begins: same seed, same run, on every machine."
SeedOption = Annotated[int, typer.Option("--seed", min=0, metavar="N", help=SEED_HELP)]


def of_scenario(name: str, source: str = "DUMP") -> str:
    """Arguments that name a scenario on the command line: its name, or the dump its cluster is from."""
    from kreplica.scenarios import OWN_CLUSTER

    return f"--from {source}" if name == OWN_CLUSTER else name


def pairs(values: object) -> str:
    """Names and values in words, as ``lost=none, acknowledged=8``."""
    assert hasattr(values, "items")
    return ", ".join(f"{name}={_text(value)}" for name, value in values.items())


def _text(value: object) -> str:
    from kreplica.model.wording.words import ids

    if isinstance(value, tuple | list):
        return ids(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
