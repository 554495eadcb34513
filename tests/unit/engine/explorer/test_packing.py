"""Words hold every state of a model apart, and tell when a number does not fit."""

from __future__ import annotations

from random import Random

import pytest
from engine.small_models import counters

from kreplica.engine.explorer.models.one_partition.models import model_of
from kreplica.engine.explorer.models.one_partition.state import Bounds
from kreplica.engine.explorer.packing import (
    BITS_A_WORD,
    generated,
    pack_source,
    places,
    unpack_source,
    words_of,
)

LAYOUTS = [
    *(model_of("kip-320", bounds).layout for bounds in (Bounds(2, 2, 2, 1), Bounds(3, 2, 2, 2), Bounds(4, 3, 5, 3))),
    counters(2**40).layout,
]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_state_comes_back_from_its_words(layout) -> None:  # type: ignore[no-untyped-def]
    pack, unpack = generated(pack_source(layout)), generated(unpack_source(layout))
    chance = Random(1)
    for edge in ("least", "most", *range(50)):
        numbers = [
            getattr(field, edge) if isinstance(edge, str) else chance.randint(field.least, field.most)
            for field in layout.each_number()
        ]
        words = [0] * words_of(layout)
        assert pack(layout.state(tuple(numbers)), words) == 0
        assert all(0 <= word < 1 << BITS_A_WORD for word in words)
        back = layout.copy(layout.state(tuple([7] * len(numbers))))
        unpack(words, back)
        assert layout.key(back) == tuple(numbers)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_number_that_does_not_fit_its_bits_is_told(layout) -> None:  # type: ignore[no-untyped-def]
    pack = generated(pack_source(layout))
    good = [field.most for field in layout.each_number()]
    for number, field in enumerate(layout.each_number()):
        for value in (field.least - 1, field.least + (1 << field.width)):
            numbers = [*good[:number], value, *good[number + 1 :]]
            assert pack(layout.state(tuple(numbers)), [0] * words_of(layout)) != 0


def test_no_number_shares_its_bits() -> None:
    for layout in LAYOUTS:
        taken = [(place.word, place.shift + bit) for place in places(layout) for bit in range(place.width)]
        assert len(taken) == len(set(taken))
        assert max(bit for _, bit in taken) < BITS_A_WORD
    assert words_of(model_of("kip-320", Bounds(3, 2, 2, 2)).layout) == 2
