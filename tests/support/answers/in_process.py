"""Command lines that run in this process: for what a command says, where its process is not what is tested."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from commands.main import run


def answered(*words: str) -> tuple[int, dict[str, Any]]:
    """The exit code of ``kreplica WORDS -o json`` and its answer."""
    code, out, _ = printed(*words, "-o", "json")
    return code, json.loads(out)


def printed(*words: str) -> tuple[int, str, str]:
    """The exit code of ``kreplica WORDS``, and what it prints to stdout and to stderr."""
    with _kept(redirect_stdout) as out, _kept(redirect_stderr) as err:
        code = run(words)
    said = err.getvalue().decode()
    assert "Traceback" not in said, said
    return code, out.getvalue().decode(), said


@contextmanager
def _kept(redirect: type[redirect_stdout[Any]] | type[redirect_stderr[Any]]) -> Iterator[io.BytesIO]:
    """A stream of this process as bytes, which is complete when the block ends."""
    kept = io.BytesIO()
    text = io.TextIOWrapper(kept, encoding="utf-8", write_through=True)
    with redirect(text):
        yield kept
    text.detach()
