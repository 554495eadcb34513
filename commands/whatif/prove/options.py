"""Options of kreplica whatif prove besides bounds: what is proved, how it is searched, where the answer goes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

MODEL = "What is proved"
ANSWER = "The search and its answer"


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Options that say what is proved, of which model with which settings."""

    model: Annotated[
        str,
        typer.Option(
            "--model", metavar="NAME", rich_help_panel=MODEL, help="The model; kreplica whatif models lists them."
        ),
    ] = "kip-320"
    invariant: Annotated[
        list[str] | None,
        typer.Option(
            "--invariant",
            metavar="NAME",
            rich_help_panel=MODEL,
            help="An invariant or a goal of the model, as kreplica whatif model NAME lists them; may be repeated."
            "  [default: the first]",
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            rich_help_panel=MODEL,
            help="For the models of settings: acks (1 or all), min.insync.replicas, unclean.leader.election.enable or"
            " flush.messages; may be repeated.",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of the search, and of the files that its answer is written to."""

    symmetry: Annotated[
        bool,
        typer.Option(
            "--symmetry",
            rich_help_panel=ANSWER,
            help="Take states that differ only in which broker is which for one, in models of one partition: fewer"
            " states, the same verdict.",
        ),
    ] = False
    memory: Annotated[
        str,
        typer.Option(
            "--memory", metavar="SIZE", rich_help_panel=ANSWER, help="Memory for states, such as 500MB or 4GiB."
        ),
    ] = "2GiB"
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", rich_help_panel=ANSWER, help="Write the answer as JSON, too."),
    ] = None
    save_plan: Annotated[
        Path | None,
        typer.Option(
            "--save-plan",
            metavar="FILE",
            rich_help_panel=ANSWER,
            help="Write the counterexample as a plan for whatif run.",
        ),
    ] = None
