"""Options that commands of sandboxes share."""

from __future__ import annotations

from typing import Annotated

import typer

NameOption = Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the sandbox.")]
