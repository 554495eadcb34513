"""Command lines of the Java programs: servers and Kafka's own tools."""

from __future__ import annotations

from pathlib import Path

# A practice cluster starts often and lives short: the quick compiler, the small collector, no shared counters.
_LEAN = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Djava.awt.headless=true"]
_SERVER = ["-XX:+ExitOnOutOfMemoryError"]


def write_class_path(folder: Path, jars: tuple[Path, ...]) -> Path:
    """Write the class path as an argument file of ``java``, so that lists of processes stay readable."""
    path = folder / "class-path.args"
    joined = ":".join(str(jar) for jar in jars).replace("\\", "\\\\")
    path.write_text(f'-cp "{joined}"\n', encoding="utf-8")
    return path


def server_command(java: Path, class_path: Path, heap_mib: int, logging: str, program: list[str]) -> list[str]:
    """Return the command line of a server; ``program`` is its main class and arguments."""
    return [str(java), f"@{class_path}", f"-Xms{heap_mib}m", f"-Xmx{heap_mib}m", *_LEAN, *_SERVER, logging, *program]


def tool_command(java: Path, class_path: Path, logging: str, program: list[str]) -> list[str]:
    """Return the command line of one of Kafka's tools."""
    return [str(java), f"@{class_path}", "-Xmx256m", *_LEAN, logging, *program]
