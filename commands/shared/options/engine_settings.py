"""Settings and features of a cluster that the engine plays, as options: how they are read and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kreplica.errors import UsageError

if TYPE_CHECKING:
    from kreplica.engine.settings import Value

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of the cluster, topics or clients; may be repeated."),
]
FeatureOption = Annotated[
    list[str] | None,
    typer.Option(
        "--feature",
        metavar="NAME=LEVEL",
        help="A feature's level, as in an upgraded cluster; else those of a new one. May be repeated.",
    ),
]


def parse_settings(texts: Sequence[str] | None, features: Sequence[str] | None = None) -> dict[str, Value]:
    """The settings of ``--set`` and the levels of ``--feature``.

    Raises:
        UsageError: One is not NAME=VALUE, is unknown or has another type; or a name comes twice.
    """
    from kreplica.engine.settings import parse

    settings: dict[str, Value] = {}
    for option, name, value in split_settings(texts, features):
        if name in settings:
            raise UsageError(f"{option} {name} is given twice", "", "give it once")
        settings[name] = parse(name, value)
    return settings


def split_settings(texts: Sequence[str] | None, features: Sequence[str] | None) -> list[tuple[str, str, str]]:
    """Option, name and value of each ``--set`` and ``--feature``.

    Raises:
        UsageError: One has no equals sign, belongs to the other option, or names an unknown feature.
    """
    from kreplica.engine.versions.features import FEATURE_NAMES, feature_named

    found = [("--set", *_split("--set", text, "setting", "NAME=VALUE, like acks=1")) for text in texts or ()]
    for _, name, value in found:
        if name in FEATURE_NAMES:
            raise UsageError(f"{name} is no setting", "it is a feature", f"give it as --feature {name}={value}")
    told = "NAME=LEVEL, like eligible.leader.replicas.version=0"
    levels = [("--feature", *_split("--feature", text, "feature", told)) for text in features or ()]
    for _, name, _ in levels:
        feature_named(name)
    return [*found, *levels]


def _split(option: str, text: str, what: str, form: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise UsageError(f"{option} {text} is no {what}", "", f"write it as {form}")
    return name.strip(), value.strip()


def shown_settings(settings: object) -> dict[str, object]:
    """Settings as a user writes them: acks=-1 is ``all``."""
    from kreplica.scenarios import outcome_rows

    return outcome_rows.shown_settings(settings)


def setting_texts(settings: Mapping[str, Value]) -> dict[str, str]:
    """Settings as ``--set`` takes them."""
    shown = shown_settings(dict(settings))
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in shown.items()}


def setting_options(settings: Mapping[str, Value]) -> str:
    """Settings and features as they are typed, each with a blank before it."""
    from kreplica.engine.versions.features import FEATURE_NAMES

    told = setting_texts(settings).items()
    return "".join(f" --{'feature' if name in FEATURE_NAMES else 'set'} {name}={value}" for name, value in told)
