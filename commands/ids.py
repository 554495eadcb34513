"""Ids of brokers as they are typed."""

from __future__ import annotations

from collections.abc import Sequence

from kreplica.errors import UsageError

MOST_DIGITS = 10
"""Of a broker id, an int32."""


def parse_ids(texts: Sequence[str], option: str = "--broker") -> tuple[int, ...]:
    """The ids of ``--broker 1,2 --broker 3``, each once.

    Args:
        texts: What was typed, one text for each time that the option was given.
        option: For which option or argument, as the user wrote it.

    Raises:
        UsageError: One is no id.
    """
    words = [word.strip() for text in texts for word in text.split(",")]
    wrong = [word for word in words if not (word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS)]
    if wrong:
        raise UsageError(f"{option} {wrong[0]!r} is no broker id", "ids are whole numbers", f"as in {option} 1,2")
    return tuple(dict.fromkeys(map(int, words)))
