"""``make conformance-old``: plays the rows of old releases, each on a cluster of its own, and writes each as it ends.

Exit status 0 if every row is equal or explained, 1 otherwise. Words choose rows and releases; rows that were not played
keep what the table says of them.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from conformance.old.playing import play_old
from conformance.old.rows import OLD_ROWS, OldRow
from conformance.table import GOOD, NOT_PLAYED

BEGIN, END = "<!-- table: make conformance-old -->\n", "<!-- end of that table -->\n"
START_SECONDS = 600.0
"""Until brokers have to be up: these are often started on a machine that does other things, too."""

Verdicts = Mapping[tuple[str, str], str]


def _chosen(words: Sequence[str]) -> Iterator[tuple[OldRow, str]]:
    for old in OLD_ROWS:
        for release in old.releases:
            if all(word in (old.row.name, release) for word in words):
                yield old, release


def _verdict(old: OldRow, release: str) -> str:
    begun = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as home:
            result = play_old(old, release, Path(home))
    except Exception as error:  # the rows after it are played all the same
        print(f"{release} {old.row.name}: {NOT_PLAYED}: {type(error).__name__}: {error}", flush=True)
        return NOT_PLAYED
    print(f"{release} {result} ({time.monotonic() - begun:.0f} s)", flush=True)
    return result.verdict


def table(verdicts: Verdicts) -> str:
    """The table as Markdown: a line for each row and release."""
    lines = ["| row | changed by | release | brokers and engine |", "| --- | --- | --- | --- |"]
    for old in OLD_ROWS:
        for release in old.releases:
            verdict = verdicts.get((old.row.name, release), NOT_PLAYED)
            lines.append(f"| {old.row.name} | {old.boundary} | {release} | {verdict} |")
    return "\n".join(lines) + "\n"


def told_by(page: str) -> dict[tuple[str, str], str]:
    """What the table in a page says."""
    _, _, found = page.partition(BEGIN)
    lines = re.findall(r"^\| (\S+) \| [^|]+ \| (\S+) \| ([^|]+) \|$", found.partition(END)[0], re.MULTILINE)
    known = {old.row.name for old in OLD_ROWS}
    return {(row, release): verdict for row, release, verdict in lines if row in known}


def write(page: Path, verdicts: Verdicts) -> None:
    """Puts what was played into the page."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    known = told_by(text) | dict(verdicts)
    page.write_text(f"{before}{BEGIN}\n{table(known)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Plays what is chosen."""
    parser = argparse.ArgumentParser(prog="make conformance-old")
    parser.add_argument("--page", type=Path)
    parser.add_argument("words", nargs="*")
    asked = parser.parse_args(arguments)
    verdicts: dict[tuple[str, str], str] = {}
    for old, release in _chosen(asked.words):
        verdict = verdicts[old.row.name, release] = _verdict(old, release)
        if asked.page and verdict != NOT_PLAYED:
            write(asked.page, verdicts)
    return int(any(verdict not in GOOD for verdict in verdicts.values()))


if __name__ == "__main__":
    import_module("kreplica.sandbox.launch").START_SECONDS = START_SECONDS
    sys.exit(main(sys.argv[1:]))
