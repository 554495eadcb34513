"""Options that say where Spark runs, and with which settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from kreplica.errors import UsageError

MasterOption = Annotated[
    str | None,
    typer.Option(
        "--master", metavar="MASTER", help="Where Spark runs: local[*] if not given, local[4], spark://HOST:PORT."
    ),
]
FoldingMasterOption = Annotated[
    str | None,
    typer.Option("--master", metavar="MASTER", help="Fold many snapshots on this Spark: spark://HOST:PORT, local[4]."),
]
RemoteOption = Annotated[
    str | None, typer.Option("--remote", metavar="URL", help="A Spark Connect server instead: sc://HOST:15002.")
]
SettingOption = Annotated[
    list[str] | None,
    typer.Option("--spark-conf", metavar="NAME=VALUE", help="A setting of Spark; may be repeated."),
]


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Options of the session of Spark."""

    master: MasterOption = None
    remote: RemoteOption = None
    spark_conf: SettingOption = None

    def settings(self) -> dict[str, str]:
        """Settings that were given, by name.

        Raises:
            UsageError: A text is none.
        """
        return settings_of(self.spark_conf)


def settings_of(texts: Sequence[str] | None) -> dict[str, str]:
    """Settings by name.

    Raises:
        UsageError: A text is none.
    """
    return dict(map(_setting, texts or ()))


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise UsageError(f"--spark-conf {text} is no setting of Spark", fix="--spark-conf spark.executor.memory=2g")
    return name, value
