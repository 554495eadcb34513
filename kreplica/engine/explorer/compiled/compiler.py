"""Functions compiled by numba with all that they call, and a digest of what was compiled.

numba keeps compiled code by the file and the time stamp of the one function that is asked for. It then gives one
model's code for another's that shares this function, and old code after a rule in another file was edited. So code is
kept here in a folder named by a digest over the bytecode of every function that is reached, the values that they name,
and the versions of numba, Python and the processor.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterator
from enum import EnumType
from functools import partial
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from kreplica.system.folders import cache_folder

KEPT_FOLDERS = 32
"""Folders of code that stay, half a MiB each: those that were used last. Every model, bound or release adds one."""

_MADE = "functions with one caller are parts of it"
"""Part of every digest: code that was compiled in another way is not taken."""

_NAME = re.compile("[0-9a-f]{32}")


def with_globals(function: Callable[..., Any], **names: Any) -> FunctionType:
    """A copy of a function that has some of its globals from the caller."""
    assert isinstance(function, FunctionType)
    assert function.__closure__ is None
    return FunctionType(function.__code__, {**function.__globals__, **names}, function.__name__, function.__defaults__)


class Compiler:
    """Compiles each function once, with every function that it names or closes over.

    Args:
        folder: A folder for the code of the functions that are kept; None to keep none.
        owner: Part of every function's name. numba numbers functions anew in each process and links them by name and
            number: without it, code that is kept would call what another model has under the same name and number.
        parts: Functions whose code becomes part of their caller's: ``called_by_one``. That takes a third off a search,
            and adds a tenth at most to compiling.
    """

    def __init__(self, folder: Path | None = None, owner: str = "", parts: Collection[FunctionType] = ()) -> None:
        self._folder = folder
        self._owner = owner
        self._parts = parts
        self._compiled: dict[FunctionType, Callable[..., Any]] = {}

    def compiled(self, function: FunctionType) -> Callable[..., Any]:
        """The function as numba makes it, to be called by compiled functions alone: to make it callable from Python as
        well takes a quarter of the time.
        """
        if function not in self._compiled:
            numba: Any = importlib.import_module("numba")
            part = function in self._parts
            self._compiled[function] = numba.njit(
                self._linked(function), no_cfunc_wrapper=True, no_cpython_wrapper=True, forceinline=part
            )
        return self._compiled[function]

    def kept(self, function: FunctionType) -> Callable[..., Any]:
        """A function that Python calls; without a closure, so that its code can be kept in the folder."""
        if self._folder is None:
            return self._alone(function)
        numba: Any = importlib.import_module("numba")
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(self._folder)  # numba asks for it here, not when it compiles
        try:
            kept = numba.njit(self._linked(function), cache=True, no_cfunc_wrapper=True)
        finally:
            numba.config.CACHE_DIR = before
        return _Kept(kept, self._folder, partial(self._alone, function))

    def _alone(self, function: FunctionType) -> Callable[..., Any]:
        numba: Any = importlib.import_module("numba")
        alone: Callable[..., Any] = numba.njit(self._linked(function), no_cfunc_wrapper=True)
        return alone

    def _linked(self, function: FunctionType) -> FunctionType:
        """A copy whose globals and cells name compiled functions."""
        scope = function.__globals__
        named = {name: self._value(scope[name]) for name in _names(function.__code__) if name in scope}
        cells = tuple(CellType(self._value(cell.cell_contents)) for cell in function.__closure__ or ())
        code = function.__code__
        code = code.replace(co_name=f"{code.co_name}_{self._owner}", co_qualname=f"{code.co_qualname}_{self._owner}")
        return FunctionType(code, {**scope, **named}, code.co_name, function.__defaults__, cells)

    def _value(self, value: Any) -> Any:
        return self.compiled(value) if isinstance(value, FunctionType) else value


class _Kept:
    """A function whose code is kept, and compiled for this process alone if what is kept cannot be used.

    Args:
        function: As numba makes it, with its code in the folder.
        folder: The folder. It is deleted with code that cannot be read, so that the next process keeps its own.
        alone: Makes the same function without a folder.
    """

    def __init__(self, function: Any, folder: Path, alone: Callable[[], Callable[..., Any]]) -> None:
        self._kept, self._folder, self._alone = function, folder, alone
        self._called: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self._called is None:
            self._called = self._loaded(arguments)
        return self._called(*arguments)

    def _loaded(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        numba: Any = importlib.import_module("numba")
        function: Callable[..., Any] = self._kept
        try:
            self._kept.compile(tuple(map(numba.typeof, arguments)))
        except Exception:  # a damaged file shows as whatever pickle and LLVM make of it, a full disk as OSError
            if not self._kept.overloads:  # otherwise it was compiled, and only could not be kept
                shutil.rmtree(self._folder, ignore_errors=True)
                function = self._alone()
        return function


def called_by_one(*functions: FunctionType) -> set[FunctionType]:
    """The functions that some functions reach and of which only one other function is the caller."""
    callers: dict[FunctionType, set[FunctionType]] = {}
    waiting, seen = list(functions), set[FunctionType]()
    while waiting:
        caller = waiting.pop()
        if caller not in seen:
            seen.add(caller)
            for function in _called(caller):
                callers.setdefault(function, set()).add(caller)
                waiting.append(function)
    return {function for function, by in callers.items() if len(by) == 1}


def _called(function: FunctionType) -> Iterator[FunctionType]:
    named = (function.__globals__.get(name) for name in _names(function.__code__))
    cells = (cell.cell_contents for cell in function.__closure__ or ())
    yield from (value for value in (*named, *cells) if isinstance(value, FunctionType))


def digest(*functions: FunctionType) -> str:
    """A digest over functions, all that they reach, and what compiles them."""
    import llvmlite.binding
    import numba

    features = sorted(llvmlite.binding.get_host_cpu_features().items())
    processor = [platform.machine(), llvmlite.binding.get_host_cpu_name(), str(features)]
    lines = [_MADE, numba.__version__, sys.version, *processor]
    seen: list[FunctionType] = []
    for function in functions:
        lines.extend(_described(function, seen))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def code_folder(name: str) -> Path | None:
    """The folder for the code of a digest, None if it cannot be written; those not used for longest are deleted."""
    folder = cache_folder() / "compiled" / name[:32]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:
        return None
    for unused in _by_last_use(folder.parent)[KEPT_FOLDERS:]:
        shutil.rmtree(unused, ignore_errors=True)
    return folder if os.access(folder, os.W_OK) else None


def _by_last_use(compiled: Path) -> list[Path]:
    """The folders of code, that used last first; none if another process deletes some of them just now."""
    try:
        used = [(each.lstat().st_mtime_ns, each) for each in compiled.iterdir() if _NAME.fullmatch(each.name)]
    except OSError:
        return []
    return [each for _, each in sorted(used, reverse=True)]


def _names(code: CodeType) -> Iterator[str]:
    """Names of globals and attributes in a function, in its comprehensions, too: code of their own before 3.12."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _described(function: FunctionType, seen: list[FunctionType]) -> Iterator[str]:
    """Lines that differ wherever two functions may differ; a function that is met again by its number."""
    if function in seen:
        yield f"function {seen.index(function)}"
        return
    seen.append(function)
    yield str(function.__module__)  # numba's index of what it keeps names modules, and they may have moved
    yield from _described_code(function.__code__)
    yield repr(function.__defaults__)
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield from _described_value(name, function.__globals__[name], seen)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield from _described_value(name, cell.cell_contents, seen)


def _described_value(name: str, value: Any, seen: list[FunctionType]) -> Iterator[str]:
    yield name
    if isinstance(value, FunctionType):
        yield from _described(value, seen)
    elif isinstance(value, EnumType):
        yield repr(list(value.__members__.items()))
    else:
        # what a function reads of a module of ours could change unseen: it has to import that by name
        assert not isinstance(value, ModuleType), name
        yield repr(value)


def _described_code(code: CodeType) -> Iterator[str]:
    yield repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))
    yield repr(code.co_exceptiontable)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _described_code(constant)
        else:
            yield f"{type(constant).__name__} {sorted(constant) if isinstance(constant, frozenset) else constant!r}"
