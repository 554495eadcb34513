"""Names of topics, and patterns of them as ``--topic`` and Kafka's tools understand them."""

from __future__ import annotations

import re

from kreplica.errors import UsageError

TOPIC_CHARACTERS = r"[a-zA-Z0-9._-]{1,249}"
"""Characters of a topic's name and their number, as a regular expression (common.internals.Topic.validate)."""


def is_topic_name(name: str) -> bool:
    """True if Kafka takes the name for a topic: the characters, and neither one dot nor two."""
    return re.fullmatch(TOPIC_CHARACTERS, name, re.ASCII) is not None and name not in (".", "..")


def topic_pattern(text: str) -> re.Pattern[str]:
    """Compiles the value of ``--topic``.

    As in Kafka's tools the whole name has to match, a comma separates alternatives, and spaces and the quotes around
    it do not count (org.apache.kafka.server.util.TopicFilter).

    Raises:
        UsageError: It is not a regular expression.
    """
    try:
        return re.compile(text.replace(",", "|").replace(" ", "").strip("\"'\t\n"))
    except re.error as error:
        position = "" if error.pos is None else f" at character {error.pos + 1}"
        raise UsageError(
            f"{text!r} is not a regular expression",
            f"{error.msg}{position}",
            "quote a special character with \\",
        ) from None
