"""Bounds of ``kreplica whatif prove`` as words: the command that is named next takes them."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from commands.whatif.prove.bounds import FaultOptions, SizeOptions, words_of


@pytest.mark.parametrize("options", [SizeOptions, FaultOptions])
def test_each_bound_is_named_as_its_option(options: type[SizeOptions | FaultOptions]) -> None:
    hints = get_type_hints(options, include_extras=True)
    for field in fields(options):
        option = get_args(hints[field.name])[1]
        size = SizeOptions(**{field.name: 3}) if options is SizeOptions else SizeOptions()
        faults = FaultOptions(**{field.name: 3}) if options is FaultOptions else FaultOptions()
        words = words_of(size, faults, ["acks=1"])
        assert words[0] in (option.default, *option.param_decls), field.name
        assert words[1:] == ["3", "--set", "acks=1"]
