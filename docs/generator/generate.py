"""Writes the files that are generated from the code: ``python docs/generator/generate.py docs/reference completions``.

``--check`` writes nothing, names what is stale and ends with 1.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import command_pages
import model_pages
import protocol_pages
import request_pages

from commands.completions.command import FILE_NAMES, script

ROOT = Path(__file__).parent.parent.parent
REFERENCE = Path("docs/reference")


def generated() -> Mapping[Path, str]:
    """Every generated file, by its path in the project."""
    pages = {REFERENCE / name: text for name, text in _pages().items()}
    scripts = {Path("completions") / name: script(shell) for shell, name in FILE_NAMES.items()}
    return {REFERENCE / "README.md": command_pages.index(pages), **pages, **scripts}


def _pages() -> dict[str, str]:
    return command_pages.pages() | model_pages.pages() | protocol_pages.pages() | request_pages.pages()


def stale(files: Mapping[Path, str], folders: Sequence[Path]) -> list[Path]:
    """Files in these folders that differ from what the code gives, are absent, or are no longer generated."""
    kept = {path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).glob("*")}
    wanted = {path for path in files if path.parent in folders}
    return sorted((wanted ^ kept) | {path for path in wanted & kept if _read(path) != files[path]})


def _read(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def _write(path: Path, text: str | None) -> None:
    target = ROOT / path
    if text is None:
        target.unlink()
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    print(f"{'removed' if text is None else 'wrote'} {path}")


def main(arguments: list[str]) -> int:
    """Writes or checks; returns the exit code."""
    files = generated()
    check = "--check" in arguments
    found = stale(files, [Path(argument) for argument in arguments if argument != "--check"])
    for path in found:
        if check:
            print(f"{path} is stale: run `make docs completions`", file=sys.stderr)
        else:
            _write(path, files.get(path))
    return 1 if check and found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
