"""Decoders on bytes that were changed at random, and on cases of fuzzing (tests/support/fuzzing/decoders.py).

Guided by coverage, 7 million such bytes in twenty minutes (check and compare 200 s each, the others 60 s) broke none of
them; what a later run finds goes into CASES.
"""

from __future__ import annotations

import random

import pytest
from fuzzing.targets import TARGETS, seeds

CASES: tuple[tuple[str, bytes], ...] = (
    # Counts and lengths that no file can hold.
    ("metadata-record", b"\1\2\0\0\0\0\xff\xff\xff\xff\x0f"),
    ("metadata-record", b"\1\3\0" + b"\xff" * 40),
    ("group-record", b"\2\0\3\0\3\x7f\xff" + b"\xff" * 20),
    ("transaction-record", b"\0\1" + b"\0" * 14 + b"\xff" * 20),
    ("indexes", b"\xff" * 97),
    ("small-files", b"0\n2147483647\n"),
    ("small-files", b'{"currentVoters":' * 3000),
    # Empty frames, and frames that say they hold 2^62 bytes.
    ("compressed", b"\4"),
    ("compressed", b"\2\xff\xff\xff\xff\x0f"),
    ("compressed", b"\4\x28\xb5\x2f\xfd\xe0" + b"\xff" * 8),
)
CHANGES = 25


@pytest.mark.parametrize(("name", "content"), CASES, ids=[f"{name}-{place}" for place, (name, _) in enumerate(CASES)])
def test_bytes_that_fuzzing_found(name: str, content: bytes) -> None:
    TARGETS[name].decode(content)


@pytest.mark.parametrize("name", TARGETS)
def test_changed_files_are_borne(name: str) -> None:
    """The generator's seed is the target's name: a failure comes again."""
    chance, found = random.Random(name), sorted(seeds(TARGETS[name]))
    assert found, "no golden file fits the target's patterns"
    for _ in range(CHANGES):
        content = bytearray(chance.choice(found))
        for _ in range(chance.randrange(4)):
            if content:
                content[chance.randrange(len(content))] = chance.choice((0, 1, 127, 128, 255, chance.randrange(256)))
        TARGETS[name].decode(bytes(content[: chance.choice((len(content), chance.randrange(len(content) + 1)))]))
