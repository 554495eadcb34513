"""--watch on a terminal: the page that stands while an answer is waited for says how old it is, and who is silent."""

from __future__ import annotations

import contextlib
import io
import re
import threading
from collections.abc import Callable

import pytest

from commands.shared.printing import progress as watching
from kreplica.system.deadline import waiting_for


class Terminal(io.StringIO):
    """Keeps what was painted; each page begins at the top."""

    def isatty(self) -> bool:
        return True

    def pages(self) -> list[str]:
        return [re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", page) for page in self.getvalue().split("\x1b[H")]


class Rounds(Exception):  # noqa: N818 - ends the watch
    """All rounds were played."""


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setattr(watching, "PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(watching, "FIRST_SECONDS", 0.05)
    return Terminal()


def painted(terminal: Terminal, text: str) -> Callable[[], bool]:
    """Whether some page has the text, within a while."""

    def waited() -> bool:
        never = threading.Event()
        return any(text in terminal.getvalue() for _ in range(500) if not never.wait(0.01))

    return waited


def test_a_page_over_a_broker_that_hangs_is_stale_and_names_it(terminal: Terminal) -> None:
    rounds = iter(["answers", "hangs", "over"])

    def answer_once() -> bool:
        what = next(rounds)
        if what == "over":
            raise Rounds
        if what == "hangs":
            with waiting_for("broker-3:9092"):
                assert painted(terminal, "no answer from broker-3:9092")()
        print("HEALTHY all is well")
        return True

    with contextlib.redirect_stdout(terminal), pytest.raises(Rounds):
        watching.watch(answer_once, 0.01, None)
    stale = [page for page in terminal.pages() if "no answer from broker-3:9092" in page]
    assert re.match(
        r"\d\d:\d\d:\d\d UTC, every 0\.01 s; Ctrl-C ends\n"
        r"STALE since \d\d:\d\d:\d\d UTC: no answer from broker-3:9092 for \d+ s\nHEALTHY all is well\n",
        stale[0],
    )
    assert "STALE" not in terminal.pages()[-1], "it answered in the end"


def test_before_the_first_answer_a_line_says_what_is_waited_for(terminal: Terminal) -> None:
    def answer_once() -> bool:
        with waiting_for("broker-1:9092"):
            assert painted(terminal, "no answer from broker-1:9092")()
        raise Rounds

    with contextlib.redirect_stdout(terminal), pytest.raises(Rounds):
        watching.watch(answer_once, 1, None)
    assert not any("STALE" in page for page in terminal.pages())
