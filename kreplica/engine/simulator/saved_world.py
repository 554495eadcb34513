"""A running world kept at one moment: what an explorer goes back to, to let something else happen next.

What is still to happen stands in the clock's queue, in calls in flight and in waiting requests as functions: bound
methods, partial functions, and functions with variables of their own (closures). Two continuations must not share what
is in those, and neither ``copy.deepcopy`` nor plain pickling looks into them; this does.
"""

from __future__ import annotations

import hashlib
import sys
from io import BytesIO
from pickle import HIGHEST_PROTOCOL, Pickler, Unpickler
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from kreplica.engine.setup import Setup
from kreplica.engine.simulator.simulation import Simulation
from kreplica.engine.versions.supported import Version

_Hash = type(hashlib.sha256())
_SHARED = (Setup, Version, CodeType)
"""Types of values that never change: continuations share them."""


class SavedWorld:
    """A world as it is now, with its plan, its trace and the sinks of the trace. It lives within this process only."""

    __slots__ = ("_bytes", "_parts")

    def __init__(self, simulation: Simulation) -> None:
        written = BytesIO()
        saver = _Saver(written)
        saver.dump(simulation)
        self._bytes = written.getvalue()
        self._parts = saver.parts

    def restore(self) -> Simulation:
        """A world that goes on from that moment, and shares nothing that changes with any other."""
        world: Simulation = _Restorer(self._bytes, self._parts).load()
        return world


class _Saver(Pickler):
    """Writes a world; ``parts`` are the objects that bytes cannot hold."""

    def __init__(self, file: BytesIO) -> None:
        super().__init__(file, HIGHEST_PROTOCOL)
        self.parts: list[Any] = []

    def persistent_id(self, obj: Any) -> int | None:
        """Keeps values that never change, functions without variables of their own, and the state of hashes."""
        kind = type(obj)
        if kind is _Hash:
            obj = obj.copy()
        elif kind not in _SHARED and not (kind is FunctionType and obj.__closure__ is None):
            return None
        self.parts.append(obj)
        return len(self.parts) - 1

    def reducer_override(self, obj: Any) -> Any:
        """Says how methods, and functions with variables of their own, are made again."""
        if type(obj) is MethodType:
            return _method, (obj.__func__, obj.__self__)
        if type(obj) is FunctionType:
            variables = [cell.cell_contents for cell in obj.__closure__ or ()]
            made_of = (obj.__code__, obj.__module__, obj.__defaults__, obj.__closure__)
            return _function, made_of, variables, None, None, _fill
        if type(obj) is CellType:  # filled with the function, since it may hold that function itself
            return _cell, ()
        return NotImplemented


class _Restorer(Unpickler):
    def __init__(self, written: bytes, parts: list[Any]) -> None:
        super().__init__(BytesIO(written))
        self._parts = parts

    def persistent_load(self, pid: int) -> Any:
        part = self._parts[pid]
        return part.copy() if type(part) is _Hash else part


def _method(function: FunctionType, owner: object) -> MethodType:
    return MethodType(function, owner)  # bytes cannot name the types of methods and of cells


def _cell() -> CellType:
    return CellType()


def _function(code: CodeType, module: str, defaults: tuple[Any, ...] | None, cells: tuple[CellType, ...]) -> Any:
    return FunctionType(code, sys.modules[module].__dict__, code.co_name, defaults, cells)


def _fill(function: FunctionType, variables: list[Any]) -> None:
    for cell, value in zip(function.__closure__ or (), variables, strict=True):
        cell.cell_contents = value
