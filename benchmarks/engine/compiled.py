"""Runs a benchmark of the engine with its rules and simulator compiled by mypyc: the same numbers in half the time.

    python benchmarks/engine/compiled.py safety.py --runs 100000
    python benchmarks/engine/compiled.py --build /tmp/compiled safety.py --runs 100000

``--build`` keeps what was compiled, or uses it. It needs a C compiler, setuptools, and two minutes the first time.
kreplica itself runs uncompiled. First it checks that both give the same: verdicts and rules of some seeds of the safety
search.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COMPILED = (
    "rules/**/*.py",
    "simulator/**/*.py",
    "trace.py",
    "checkers/idempotence.py",
    "checkers/invariants.py",
    "checkers/liveness.py",
    "checkers/histories.py",
    "checkers/history_of_logs.py",
    "checkers/strong_isr.py",
)
"""Below kreplica/engine."""
COMPARED_SEEDS = 18
"""Two of each version that the safety search plays."""
COMPARE = f"""
import hashlib, safety, kreplica.engine.simulator.broker.broker as broker
plays = [(seed, verdict, sorted(rules.items())) for seed in range({COMPARED_SEEDS})
         for verdict, rules in [safety.play_or_fail(seed)]]
print(broker.__file__.rpartition(".")[2], hashlib.sha256(repr(plays).encode()).hexdigest())
"""


def main() -> int:
    """Compiles if needed, compares, runs the benchmark; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, help="folder for what is compiled; a temporary one if not given")
    parser.add_argument("benchmark", help="file of this folder")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kreplica-compiled-") as folder:
        build = (options.build or Path(folder)) / source_hash()
        if not build.exists():
            compile_engine(build)
        compare(build)
        command = [sys.executable, str(build / HERE.relative_to(ROOT) / options.benchmark), *options.arguments]
        return subprocess.run(command, env=importing_from(build), check=False).returncode


def source_hash() -> str:
    """Hash of the sources, so that modules compiled from other sources get another folder."""
    files = sorted([*(ROOT / "kreplica").rglob("*.py"), *HERE.glob("*.py")])
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def compile_engine(build: Path) -> None:
    """Makes a copy of the package with compiled modules beside their sources."""
    unfinished = build.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    for name in ("kreplica", "benchmarks"):
        shutil.copytree(ROOT / name, unfinished / name, ignore=shutil.ignore_patterns("__pycache__"))
    (unfinished / "mypy.ini").write_text("[mypy]\nignore_missing_imports = true\n")
    engine = unfinished / "kreplica" / "engine"
    modules = [path for pattern in COMPILED for path in sorted(engine.glob(pattern)) if path.name != "__init__.py"]
    command = [sys.executable, "-m", "mypyc", *(str(path.relative_to(unfinished)) for path in modules)]
    print(f"compiling {len(modules)} modules of the engine", flush=True)
    done = subprocess.run(
        command, cwd=unfinished, env=importing_from(unfinished), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"mypyc ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    unfinished.rename(build)


def compare(build: Path) -> None:
    """Ends the program when compiled and uncompiled modules do not play the same."""
    found = [played(ROOT), played(build)]
    if found[0][1] != found[1][1] or found[1][0] == found[0][0]:
        raise SystemExit(f"the compiled engine is not the same as the other, or was not used: {found}")


def played(root: Path) -> list[str]:
    """Returns how the simulator was loaded, and a hash of the runs it played."""
    command = [sys.executable, "-c", COMPARE]
    done = subprocess.run(command, cwd=root, env=importing_from(root), stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.split()


def importing_from(root: Path) -> dict[str, str]:
    """An environment in which the package is that of this folder."""
    return {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / HERE.relative_to(ROOT)}", "MYPYC_OPT_LEVEL": "1"}


if __name__ == "__main__":
    sys.exit(main())
