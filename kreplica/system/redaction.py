"""Secrets kept out of what is shown: names of properties whose values are secret, and values that were seen.

A reader of a secret registers it (``remember_secret``); every error and defect report is written without them.
"""

from __future__ import annotations

import re

HIDDEN = "(hidden)"
_SHORTEST_HIDDEN = 4
_FOUND: set[str] = set()
_SECRET_NAME = re.compile(r"password|secret|token$|jaas\.config|keystore\.key|digest\.auth|credential", re.IGNORECASE)
_URL_USER = re.compile(r"(?<=://)[^/?#\s]*@")
_URL_QUERY = re.compile(r"(://[^\s?]*)\?\S*")


def is_secret_name(name: str) -> bool:
    """True if the value of a property, or of an option of sasl.jaas.config, must not be shown."""
    return _SECRET_NAME.search(name) is not None


def remember_secret(value: str) -> None:
    """Has ``without_secrets`` hide a value; one of a few characters would hide half of every text and is left out."""
    if len(value) >= _SHORTEST_HIDDEN:
        _FOUND.add(value)


def without_secrets(text: str) -> str:
    """The text with every secret that this process has come to know replaced."""
    for value in sorted(_FOUND, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text


def without_url_secrets(text: str) -> str:
    """A URL, or a text with some, as it may be shown: user, password and query may be secrets."""
    return _URL_QUERY.sub(rf"\1?{HIDDEN}", _URL_USER.sub(f"{HIDDEN}@", text))


def forget_secrets() -> None:
    """Forgets what was remembered."""
    _FOUND.clear()
