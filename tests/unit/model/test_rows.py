"""Rows of answers: what is read off their classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated

import pytest
from msgspec import Struct

from kreplica.model.tables.rows import Int32, Meaning, fields_of, kinds_of, names_of, values_of
from kreplica.model.tables.schema import Kind


class Side(StrEnum):
    LEFT = "left"


class Row(Struct, frozen=True, rename={"from_": "from"}):
    from_: Annotated[Int32 | None, Meaning("who leads", label="LEADER", drop=2)]
    offset: Annotated[int, Meaning("where")]
    share: Annotated[float | None, Meaning("how much", screen=False)]
    lasting: Annotated[bool | None, Meaning("both times")]
    side: Annotated[Side, Meaning("which")]
    isr: Annotated[list[Int32], Meaning("in-sync replicas")]
    others: Annotated[tuple[int, ...] | None, Meaning("others")]
    names: Annotated[Sequence[str], Meaning("names")]
    facts: Annotated[Mapping[str, object], Meaning("facts", fold=True)]


class Single(Struct, frozen=True):
    name: Annotated[str, Meaning("its name")]


class Bare(Struct, frozen=True):
    name: Annotated[str, Meaning("its name")]
    forgotten: Annotated[int, Kind.INT32]


def test_names_are_those_of_every_output() -> None:
    assert names_of(Row)[:3] == ("from", "offset", "share")
    assert [field.name for field in fields_of(Row)] == list(names_of(Row))


def test_kinds_follow_from_types() -> None:
    assert kinds_of(Row) == {
        "from": Kind.INT32,
        "offset": Kind.INT64,
        "share": Kind.FLOAT64,
        "lasting": Kind.BOOL,
        "side": Kind.STRING,
        "isr": Kind.INT_LIST,
        "others": Kind.INT_LIST,
        "names": Kind.STRING,
        "facts": Kind.STRING,
    }


def test_meanings_and_labels() -> None:
    leader, offset, share, *_, facts = fields_of(Row)
    assert (leader.meaning.text, leader.label, leader.meaning.drop) == ("who leads", "LEADER", 2)
    assert (offset.label, offset.meaning.screen, offset.meaning.drop, offset.meaning.fold) == ("OFFSET", True, 0, False)
    assert not share.meaning.screen
    assert facts.meaning.fold


def test_values_come_in_order() -> None:
    row = Row(1, 2, 0.5, True, Side.LEFT, [1], (2,), ["a"], {"b": 1})
    assert tuple(values_of(Row)(row)) == (1, 2, 0.5, True, "left", [1], (2,), ["a"], {"b": 1})
    assert tuple(values_of(Single)(Single("x"))) == ("x",)


def test_a_field_without_a_meaning_is_named() -> None:
    with pytest.raises(TypeError, match=r"Bare\.forgotten has no Meaning"):
        fields_of(Bare)
