"""kreplica decode segment --records in forms that are printed while the records are read."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from commands.decode_damage import damage_warnings
from commands.output import OutputFormat, one_line
from commands.streams import stream
from kreplica.errors import ExitCode
from kreplica.formats.batch_windows import read_windows
from kreplica.formats.damage_tally import DamageTally
from kreplica.formats.file_bytes import FileBytes
from kreplica.formats.records import decode_records
from kreplica.formats.segment_rows import RECORD_JSON, RECORDS, record_table

if TYPE_CHECKING:
    from kreplica.model.table import Table


def print_records(names: Sequence[str], output: OutputFormat) -> ExitCode:
    """Prints the records of segments; memory does not grow with their number.

    Args:
        names: The segments.
        output: A form that can be printed while rows are found.
    """
    damage = DamageTally()
    stream(_tables(names, damage), RECORDS, output, RECORD_JSON)
    for warning in damage_warnings(damage.kept, damage.places):
        print(f"warning: {one_line(warning)}", file=sys.stderr)
    return ExitCode.FINDINGS if damage.places else ExitCode.OK


def _tables(names: Sequence[str], damage: DamageTally) -> Iterator[Table]:
    for name in names:
        with FileBytes.open(Path(name)) as source:
            for window in read_windows(source):
                damage.add(window.damage)
                for records in decode_records(window):
                    damage.add(records.damage)
                    yield record_table(name, records)
