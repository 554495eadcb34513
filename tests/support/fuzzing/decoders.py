"""Fuzzes the decoders of kreplica/formats, guided by the lines that the bytes reach.

    make search                                    # all of them, after the random examples; installs atheris
    .venv/bin/python tests/support/fuzzing/decoders.py segment --seconds 60

Begins from golden files, stops at the first bytes that a decoder does not bear, and leaves them in the folder
--findings. Such bytes, cut to what matters, go into tests/unit/formats/test_fuzz_cases.py. No other test run has it.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

MOST_SECONDS_EACH = 20
MOST_MEGABYTES = 5000
"""atheris 3.0 itself keeps up to 30 KB of each run; without it, 6,000 runs leave the process as large as it was."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", help="decoders by name; all if none is given, one after the other")
    parser.add_argument("--seconds", type=int, default=40, help="for each of them")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="where bytes are left")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        return _fuzz(given.targets[0], given.seconds, given.findings)
    names = given.targets or _names()
    failed = [name for name in names if _in_a_process(name, given.seconds, given.findings)]
    print(f"{len(names)} decoders, {given.seconds} s each; not borne by: {', '.join(failed) or 'none'}")
    return int(bool(failed))


def _names() -> list[str]:
    from fuzzing.targets import TARGETS

    return list(TARGETS)


def _in_a_process(name: str, seconds: int, findings: Path) -> int:
    """libFuzzer ends its process, so that each target has one of its own."""
    words = [name, "--seconds", str(seconds), "--findings", str(findings), "--alone"]
    return subprocess.run([sys.executable, __file__, *words], check=False).returncode


def _fuzz(name: str, seconds: int, findings: Path) -> int:
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["kreplica.formats"]):
        from fuzzing.targets import TARGETS, seeds
    target = TARGETS[name]
    findings.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as corpus:
        for number, content in enumerate(sorted(seeds(target))):
            Path(corpus, str(number)).write_bytes(content)
        print(f"fuzzing {name} from {len(list(Path(corpus).iterdir()))} seeds", flush=True)
        options = [
            f"-max_total_time={seconds}",
            f"-timeout={MOST_SECONDS_EACH}",
            f"-rss_limit_mb={MOST_MEGABYTES}",
            f"-artifact_prefix={findings}/{name}-",
            "-print_final_stats=1",
            "-verbosity=0",
        ]
        atheris.Setup([sys.argv[0], *options, corpus], target.decode)
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
