"""The picture of loads before and after: bars as long as their loads, within the page, and names as they are."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from kreplica.report.svg.before_after import SPAN, BarRow, Bars, before_after_svg
from tests.support.examples import examples

SVG = "{http://www.w3.org/2000/svg}"

loads = st.integers(0, 10**15)
names = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="￾￿"), max_size=12)


@st.composite
def rows(draw: st.DrawFn) -> list[BarRow]:
    found = []
    for _ in range(draw(st.integers(0, 6))):
        bars = tuple(
            Bars(before, after, (str(before), str(after))) for before, after in (draw(st.tuples(loads, loads)),) * 2
        )
        found.append(BarRow(draw(names), draw(st.booleans()), bars))
    return found


@examples(1)
@given(rows(), names)
def test_bars_are_as_long_as_their_loads_and_stay_within_the_page(drawn: list[BarRow], title: str) -> None:
    root = ET.fromstring(before_after_svg(title, ("replicas", "bytes"), drawn))
    width, height = (float(one) for one in root.attrib["viewBox"].split()[2:])
    rects = [one for one in root.iter(f"{SVG}rect") if one.attrib["class"] in ("before", "after")][2:]
    expected = [value for row in drawn for bars in row.bars for value in (bars.before, bars.after)]
    groups = [row.group for row in drawn for bars in row.bars for _ in range(2)]
    places = [place for _ in drawn for place in range(2) for _ in range(2)]
    assert len(rects) == len(expected)
    for rect, value, group, place in zip(rects, expected, groups, places, strict=True):
        most = max(one for one, kind, at in zip(expected, groups, places, strict=True) if (kind, at) == (group, place))
        assert abs(float(rect.attrib["width"]) - (SPAN * value / most if most else 0)) <= 0.051
        assert float(rect.attrib["x"]) + float(rect.attrib["width"]) <= width
        assert float(rect.attrib["y"]) + float(rect.attrib["height"]) <= height
    texts = [one.text or "" for one in root.iter(f"{SVG}text")]
    assert all(row.name in texts for row in drawn)
