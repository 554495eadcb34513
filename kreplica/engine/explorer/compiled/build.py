"""The kernel of one model: its actions, rules and invariants linked to the search, and compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from types import FunctionType
from typing import Any

from kreplica.engine.explorer.compiled import kernel
from kreplica.engine.explorer.compiled.compiler import Compiler, called_by_one, code_folder, digest, with_globals
from kreplica.engine.explorer.model import Action, Goal, Model
from kreplica.engine.explorer.packing import generated, pack_source, unpack_source
from kreplica.engine.explorer.settling import healing_of
from kreplica.engine.explorer.symmetry import exchange_of


@dataclass(frozen=True, slots=True)
class Kernel:
    """Compiled functions of ``kernel.py`` for one model.

    Args:
        begin: Takes in the initial state.
        explore: Takes actions.
        refill: Fills a new table.
        most: The most states that one state can lead to.
    """

    begin: Callable[..., Any]
    explore: Callable[..., Any]
    refill: Callable[..., Any]
    most: int


def kernel_of(model: Model) -> Kernel:
    """Compiles the search for a model, or takes the code of an earlier time."""
    begin, explore, refill = functions = linked(model)
    name = digest(*functions)
    compiler = Compiler(code_folder(name), name[:16], called_by_one(*functions))
    most = sum(prod(action.choices) for action in model.actions)
    return Kernel(compiler.kept(begin), compiler.kept(explore), compiler.kept(refill), most)


def linked(model: Model) -> tuple[FunctionType, FunctionType, FunctionType]:
    """The functions of a search for a model, not compiled: begin, explore, refill."""
    unpack = generated(unpack_source(model.layout))
    check = kernel.checks_nothing()
    for place, invariant in reversed(list(enumerate(model.invariants))):
        check = kernel.checks(place, invariant.holds, check)
    arrive, take_in = kernel.arrives(_filling(model)), kernel.takes_in(unpack, check)
    expand = kernel.takes_nothing()
    for action in reversed(model.actions):
        expand = _taking(action, arrive, unpack, expand)
    return (
        with_globals(kernel.begin, arrive=arrive, take_in=take_in),
        with_globals(kernel.explore, unpack=unpack, expand=expand, take_in=take_in),
        with_globals(kernel.refill),
    )


def _filling(model: Model) -> Callable[..., Any]:
    if model.symmetry is None:
        return kernel.packs(generated(pack_source(model.layout)))
    exchange, symmetry = exchange_of(model.layout, model.symmetry), model.symmetry
    return kernel.packs_representative(symmetry.orders, symmetry.places, exchange.rank, exchange.permute, exchange.pack)


def _taking(
    action: Action, arrive: Callable[..., Any], unpack: Callable[..., Any], rest: Callable[..., Any]
) -> Callable[..., Any]:
    if len(action.choices) == 1:
        return kernel.takes_one(action.take, action.choices[0], arrive, unpack, rest)
    first, second = action.choices
    return kernel.takes_two(action.take, (first, second), arrive, unpack, rest)


@dataclass(frozen=True, slots=True)
class Backwards:
    """Compiled functions of ``kernel.py`` for one goal of one model.

    Args:
        mark: Marks the states in which it is not reached.
        spread: Marks states from which one step leads to a marked one.
    """

    mark: Callable[..., Any]
    spread: Callable[..., Any]


def backwards_of(model: Model, goal: Goal) -> Backwards:
    """Compiles the search backwards for a goal; all goals of a model share the code of the steps."""
    unpack = generated(unpack_source(model.layout))
    find, reaches = kernel.finds(_filling(model)), kernel.reaches_nothing()
    for action in reversed(healing_of(model).actions):
        reaches = _reaching(action, find, unpack, reaches)
    mark = with_globals(kernel.mark, unpack=unpack, reached=goal.reached)
    return Backwards(_kept(mark), _kept(with_globals(kernel.spread, unpack=unpack, reaches=reaches)))


def _kept(function: FunctionType) -> Callable[..., Any]:
    name = digest(function)
    return Compiler(code_folder(name), name[:16], called_by_one(function)).kept(function)


def _reaching(
    action: Action, find: Callable[..., Any], unpack: Callable[..., Any], rest: Callable[..., Any]
) -> Callable[..., Any]:
    if len(action.choices) == 1:
        return kernel.reaches_by_one(action.take, action.choices[0], find, unpack, rest)
    first, second = action.choices
    return kernel.reaches_by_two(action.take, (first, second), find, unpack, rest)
