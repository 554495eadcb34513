"""Ids of brokers as they are typed."""

from __future__ import annotations

from collections.abc import Sequence

from kreplica.errors import UsageError


def parse_ids(texts: Sequence[str]) -> tuple[int, ...]:
    """The ids of ``--broker 1,2 --broker 3``, each once.

    Raises:
        UsageError: One is no id.
    """
    words = [word.strip() for text in texts for word in text.split(",")]
    wrong = [word for word in words if not (word.isascii() and word.isdigit())]
    if wrong:
        raise UsageError(f"--broker {wrong[0]!r} is no broker id", "ids are whole numbers", "as in --broker 1,2")
    return tuple(dict.fromkeys(map(int, words)))
