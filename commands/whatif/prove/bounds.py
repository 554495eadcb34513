"""Options of kreplica whatif prove that bound a model: its size, its faults, its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from kreplica.engine.explorer.families import ProofBounds

BOUNDS = "Bounds (each model has its own: kreplica whatif model NAME)"
FAULTS = "Faults, so many at most"


def _number(name: str, text: str, least: int = 0, most: int = 8, panel: str = BOUNDS) -> Any:
    return typer.Option(name, min=least, max=most, metavar="N", rich_help_panel=panel, help=text)


@dataclass(frozen=True, slots=True)
class SizeOptions:
    """Options that say how large a model is, as given, by the names of its bounds."""

    replicas: Annotated[int | None, _number("--replicas", "Replicas, brokers or controllers.", 1, 5)] = None
    log: Annotated[int | None, _number("--log", "Most records of a log.", 1)] = None
    records: Annotated[int | None, _number("--records", "Records that are written.")] = None
    last_epoch: Annotated[int | None, _number("--epochs", "The largest epoch: of the leader or the partition.")] = None
    min_isr: Annotated[int | None, _number("--min-isr", "min.insync.replicas.", 1, 5)] = None
    isr: Annotated[int | None, _number("--in-sync", "Replicas in sync at first.", 1, 5)] = None
    first_leader: Annotated[
        int | None, _number("--first-leader", "The broker that leads at first; 1 is the preferred one.", 1, 5)
    ] = None
    messages: Annotated[int | None, _number("--messages", "Messages under way at once.", 1, 32)] = None
    clients: Annotated[
        int | None, _number("--clients", "Producers with one transactional id, or consumers of a group.", 1)
    ] = None
    partitions: Annotated[
        int | None, _number("--partitions", "Partitions that a producer adds, or a group consumes.", 1)
    ] = None


@dataclass(frozen=True, slots=True)
class FaultOptions:
    """Options that say how many faults come, as given, by the names of its bounds."""

    faults: Annotated[int | None, _number("--faults", "Faults of any kind.", 0, 5, FAULTS)] = None
    fences: Annotated[
        int | None, _number("--fences", "Brokers that run and are fenced, or controllers cut off.", panel=FAULTS)
    ] = None
    losses: Annotated[int | None, _number("--losses", "Brokers that crash and lose their log.", panel=FAULTS)] = None
    stops: Annotated[
        int | None, _number("--stops", "Brokers or controllers that crash and keep their log.", panel=FAULTS)
    ] = None
    shrinks: Annotated[
        int | None, _number("--shrinks", "Times that a leader takes a follower for too slow.", panel=FAULTS)
    ] = None
    time_outs: Annotated[
        int | None, _number("--time-outs", "Times that a client waits no longer for an answer.", 0, 2, FAULTS)
    ] = None
    cut_offs: Annotated[
        int | None, _number("--cut-offs", "Times that a broker that is up is fenced, or slow.", 0, 5, FAULTS)
    ] = None
    power_losses: Annotated[
        int | None, _number("--power-losses", "Times that the machine of one broker loses power.", 0, 5, FAULTS)
    ] = None
    power_losses_of_all: Annotated[
        int | None, _number("--power-losses-of-all", "Times that all machines lose power at once.", 0, 5, FAULTS)
    ] = None


def bounds_of(model: str, size: SizeOptions, faults: FaultOptions, settings: Sequence[str]) -> ProofBounds:
    """The bounds of a model's family, with those that were given.

    Raises:
        UsageError: There is no such model, or it has no such bound or setting.
    """
    options = {**asdict(size), **asdict(faults)}
    given = {name: value for name, value in options.items() if value is not None}
    return _bounds(model, {**given, **_settings(settings)})


def words_of(size: SizeOptions, faults: FaultOptions, settings: Sequence[str]) -> list[str]:
    """The bounds and settings that were given, as words of a command line."""
    from kreplica.engine.explorer.catalogue import option_of

    bounds = {**asdict(size), **asdict(faults)}
    given = [(option_of(name), str(value)) for name, value in bounds.items() if value is not None]
    return [word for pair in (*given, *(("--set", each) for each in settings)) for word in pair]


def _settings(given: Sequence[str]) -> dict[str, int]:
    """Settings by the names of bounds."""
    from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
    from kreplica.errors import UsageError

    values: dict[str, tuple[str, dict[str, int]]] = {
        "acks": ("acks", {"0": 0, "1": 1, "all": ACKS_ALL, "-1": ACKS_ALL}),
        "min.insync.replicas": ("min_isr", {str(number): number for number in range(1, 6)}),
        "unclean.leader.election.enable": ("unclean", {"true": True, "false": False}),
        "flush.messages": ("flush_messages", {str(number): number for number in range(1, 4)}),
    }
    found: dict[str, int] = {}
    for pair in given:
        key, _, text = pair.partition("=")
        if key not in values or text not in values[key][1]:
            raise UsageError(
                f"--set {pair!r} is none of: acks=1 or all, min.insync.replicas=1 to 5,"
                " unclean.leader.election.enable=true or false, flush.messages=1 to 3"
            )
        name, numbers = values[key]
        found[name] = numbers[text]
    return found


def _bounds(model: str, given: dict[str, Any]) -> ProofBounds:
    from kreplica.engine.explorer.catalogue import option_of
    from kreplica.engine.explorer.families import family_of
    from kreplica.engine.explorer.models.kraft.state import KraftBounds
    from kreplica.engine.explorer.models.settings.state import SettingsBounds
    from kreplica.errors import UsageError

    default = family_of(model).default
    for name in given.keys() - set(default._fields):
        known = ", ".join(map(option_of, default._fields))
        raise UsageError(f"{option_of(name)} is no bound of {model}", fix=f"one of {known}")
    if isinstance(default, KraftBounds) and "replicas" in given:
        given = {"isr": given["replicas"], **given}
    if isinstance(default, KraftBounds | SettingsBounds) and "replicas" in given:
        given = {"min_isr": min(default.min_isr, given["replicas"]), **given}
    if isinstance(default, SettingsBounds) and "faults" in given:
        given = {"stops": given["faults"], **given}
    return default._replace(**given)
