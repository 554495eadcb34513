"""Reads an SVG picture as a reader's eye does: where its words stand, and whether two of them meet."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import combinations
from typing import NamedTuple

from kreplica.report.svg.text_width import text_width

SVG = "{http://www.w3.org/2000/svg}"


class Box(NamedTuple):
    """Where a text stands, in pixels."""

    left: float
    top: float
    right: float
    bottom: float
    text: str


def size_of(root: ET.Element) -> tuple[int, int]:
    """Width and height of the page."""
    _, _, width, height = map(int, root.attrib["viewBox"].split())
    return width, height


def boxes(root: ET.Element) -> list[Box]:
    """Every text with the room it takes: letters stand from three quarters of their size above the line to below it."""
    styles = _styles(root)
    return [_box(one, styles) for one in root.iter(f"{SVG}text")]


def meeting(found: list[Box]) -> list[tuple[str, str]]:
    """Pairs of texts that stand on each other."""
    near = sorted(found, key=lambda box: box.top)
    return [
        (one.text, other.text) for one, other in combinations(near, 2) if other.top < one.bottom and _meet(one, other)
    ]


def _meet(one: Box, other: Box) -> bool:
    return one.left < other.right and other.left < one.right and one.top < other.bottom


def _styles(root: ET.Element) -> dict[str, str]:
    sheet = "".join(one.text or "" for one in root.iter(f"{SVG}style")).partition("@media")[0]
    return {name: rules for names, rules in re.findall(r"([^{}]+)\{([^{}]*)\}", sheet) for name in names.split(",")}


def _box(one: ET.Element, styles: dict[str, str]) -> Box:
    rules = styles.get("text", "") + ";" + ";".join(styles.get(f".{name}", "") for name in one.get("class", "").split())
    size = int(re.findall(r"(?:font-size:|font:)(\d+)px", rules)[-1])
    anchor = (re.findall(r"text-anchor:(\w+)", rules) or ["start"])[-1]
    x, y, width = float(one.attrib["x"]), float(one.attrib["y"]), text_width(one.text or "", size)
    left = {"start": x, "middle": x - width / 2, "end": x - width}[anchor]
    return Box(left, y - size * 0.75, left + width, y + size * 0.2, one.text or "")


WIDEST, TALLEST = 1600, 4800
"""Pixels of a page that a person still reads: the width of a screen, a few of its heights."""


def unreadable(root: ET.Element) -> list[str]:
    """What is wrong with a picture: its size, words that leave the page, words that meet."""
    width, height = size_of(root)
    found = boxes(root)
    wrong = [f"{width} x {height} pixels"] if width > WIDEST or height > TALLEST else []
    for box in found:
        if box.left < 0 or box.right > width or box.top < 0 or box.bottom > height:
            wrong.append(f"{box.text!r} leaves the page")
    return wrong + [f"{one!r} meets {other!r}" for one, other in meeting(found)]
