"""Numbers of generated examples: each test has its share of the profile's, none a number of its own."""

from __future__ import annotations

from hypothesis import settings


def examples(share: float) -> settings:
    """Settings with so many times the examples of the profile: below 1 where one is dear, above 1 where it is cheap."""
    assert settings.default is not None
    return settings(max_examples=max(1, round(settings.default.max_examples * share)))
