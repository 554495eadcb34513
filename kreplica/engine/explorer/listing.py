"""Models before they are explored, as rows: all of them, and one with its bounds, invariants and goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Struct

from kreplica.engine.explorer.catalogue import ABOUT, BOUNDS, About, option_of
from kreplica.engine.explorer.families import FAMILIES, Family, family_of
from kreplica.engine.explorer.model import Goal, Model, Property
from kreplica.errors import NoJudgement
from kreplica.model.tables.rows import Meaning


class ListedModel(Struct, frozen=True):
    """A model that can be explored."""

    model: Annotated[str, Meaning("name of the model")]
    subject: Annotated[str, Meaning("what it is a model of", label="OF")]
    about: Annotated[str, Meaning("how it differs from others of that, of a mutant what goes wrong", fold=True)]
    mutant: Annotated[bool, Meaning("whether it lacks a guard that it is meant to have", screen=False)]
    invariants: Annotated[
        Sequence[str], Meaning("what can be asked of each state, that which is asked by default first", screen=False)
    ]
    goals: Annotated[Sequence[str], Meaning("what is to come about once no fault comes any more", screen=False)]


class ModelBound(Struct, frozen=True):
    """A bound of a model."""

    option: Annotated[str, Meaning("option of kreplica whatif prove that gives it")]
    default: Annotated[str, Meaning("its value unless given")]
    meaning: Annotated[str, Meaning("what is bounded", fold=True)]


@dataclass(frozen=True, slots=True)
class ListedModels(NoJudgement):
    """Models that can be explored.

    Args:
        rows: A row for each.
        mutants: Number of models that lack a guard and are left out.
    """

    rows: Sequence[ListedModel]
    mutants: int


@dataclass(frozen=True, slots=True)
class ShownModel(NoJudgement):
    """One model before it is explored.

    Args:
        model: The model within its default bounds.
        family: The models that share its state.
    """

    model: Model
    family: Family

    @property
    def about(self) -> About:
        """Its line in the catalogue."""
        return ABOUT[self.model.name]

    @property
    def rows(self) -> list[ModelBound]:
        """Its bounds, with what they are unless given."""
        values = {**self.family.default._asdict(), **self.family.limits(self.family.default)}
        meanings = BOUNDS[self.about.subject]
        return [
            ModelBound(option_of(name), _words(name, values[name]), meanings[name])
            for name in self.family.default._fields
        ]

    @property
    def facts(self) -> Mapping[str, object]:
        """Its words, invariants and goals, as plain values."""
        asked: tuple[Property, ...] = (*self.model.invariants, *self.model.goals)
        return {
            "name": self.model.name,
            "subject": self.about.subject,
            "about": self.about.about,
            "mutant": self.about.mutant,
            "properties": [
                {
                    "name": one.name,
                    "promise": one.promise,
                    "goal": isinstance(one, Goal),
                    "default": one is self.model.invariants[0],
                }
                for one in asked
            ],
        }


def whatif_models(*, mutants: bool = False) -> ListedModels:
    """Lists the models that ``whatif_prove`` explores.

    Args:
        mutants: Whether those that lack a guard are listed, too.
    """
    models = [family.model_of(name, family.default) for family in FAMILIES for name in family.names]
    rows = [_row_of(model) for model in models if mutants or not ABOUT[model.name].mutant]
    return ListedModels(rows, len(models) - len(rows))


def whatif_model(name: str) -> ShownModel:
    """Tells what a model is of, its bounds, its invariants and its goals.

    Raises:
        UsageError: There is none of that name; the nearest ones are given.
    """
    family = family_of(name)
    return ShownModel(family.model_of(name, family.default), family)


def _row_of(model: Model) -> ListedModel:
    found = ABOUT[model.name]
    return ListedModel(
        model=model.name,
        subject=found.subject,
        about=found.about,
        mutant=found.mutant,
        invariants=[one.name for one in model.invariants],
        goals=[one.name for one in model.goals],
    )


def _words(bound: str, value: object) -> str:
    if value is None:
        return "never" if bound == "flush_messages" else "any"
    return str(value).lower() if isinstance(value, bool) else str(value)
