"""disks on the screen: verdict first, then the directories, then the largest partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from commands.disks.answer import DiskAnswer
from commands.shared.printing.screen import TableColumn, print_columns, print_lines, print_verdict, utc
from commands.shared.values import size_words, spell_duration
from kreplica.health.disks import SECONDS_A_DAY, LogDirectory, StoredPartition, Trend
from kreplica.model.wording.words import are, counted
from kreplica.monitoring.disk_space import LOW_PERCENT, SOON_DAYS, ClusterDisks

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.options.common import SourceOptions

LITTLE_TIME = 3600
"""Seconds between two snapshots below which a forecast of days says little."""
MOST_SHOWN = 5
_UNLIMITED = "-1"


def show(found: DiskAnswer, sources: SourceOptions, console: Console) -> None:
    """Prints the disks of each cluster for a person."""
    for number, view in enumerate(found.views):
        if number:
            console.print()
        _show(found, view, sources, console)


def _show(found: DiskAnswer, view: ClusterDisks, sources: SourceOptions, console: Console) -> None:
    report = view.report
    print_verdict(console, *verdict(found, view))
    print_lines(console, "room", _room(view))
    print_lines(console, "missing", [gap.message for gap in view.snapshot.gaps])
    if view.earlier is not None:
        print_lines(console, "growth", _interval(view))
    if report.directories:
        _print_directories(view, console)
    if report.largest:
        console.print()
        _print_largest(report.largest, console)
    print_lines(console, "stray", _strays(view))
    print_lines(console, "moving", _futures(view))
    print_lines(console, "next", _next(view, sources), whole=True)


def verdict(found: DiskAnswer, view: ClusterDisks) -> tuple[str, str, str]:
    """Word, colour and sentence: the worst first."""
    count, offline = len(view.report.directories), view.report.offline
    if not count:
        return "INCOMPLETE", "yellow", f"no log directory is known of {view.snapshot.name}"
    if offline:
        where = "; ".join(f"{_place(one)}: {one.error}" for one in offline[:MOST_SHOWN])
        some = f"{len(offline)} of {counted(count, 'log directory', 'log directories')} offline"
        said = f"{some}, their replicas are out of service ({where})"
        return "OFFLINE", "red", said
    if (short := _short_of_room(found, view)) is not None:
        return short
    if view.incomplete or found.found.undecided(view):
        return (
            "INCOMPLETE",
            "yellow",
            f"no trouble in the {counted(count, 'log directory', 'log directories')} that {are(count)} known",
        )
    word, color = ("STRAYS", "yellow") if view.report.strays else ("OK", "green")
    all_of_them = "the only log directory is" if count == 1 else f"all {count} log directories"
    return word, color, f"{all_of_them} online{_stray_clause(view)}"


def _short_of_room(found: DiskAnswer, view: ClusterDisks) -> tuple[str, str, str] | None:
    of = f"of {counted(len(view.report.directories), 'log directory', 'log directories')}"
    if low := found.found.nearly_full(view):
        least = min(low, key=lambda one: one.usable_percent or 0)
        return "NEARLY FULL", "red", f"{len(low)} {of} under {LOW_PERCENT} % usable, least {_usable(least)}"
    if soon := found.found.filling(view):
        first = min(soon, key=lambda one: _days(one) or 0)
        return "FILLING", "yellow", f"{len(soon)} {of} full within {SOON_DAYS} days, first {_place(first)}"
    if broken := found.found.broken(view):
        return "LIMIT", "yellow", f"{len(broken)} {of} below the limit given, first {_place(broken[0])}"
    return None


def _stray_clause(view: ClusterDisks) -> str:
    strays = view.report.strays
    count = counted(len(strays), "stray replica")
    return f", {count} the cluster does not count on: {size_words(sum(one.bytes for one in strays))}" if strays else ""


def _days(one: LogDirectory) -> float | None:
    return None if one.growth is None else one.growth.days_until_full


def _place(one: LogDirectory) -> str:
    return f"broker {one.broker} {one.path}"


def _usable(one: LogDirectory) -> str:
    assert one.usable_bytes is not None
    return f"{_place(one)}: {size_words(one.usable_bytes)}, {one.usable_percent:.1f} %"


def _room(view: ClusterDisks) -> Iterator[str]:
    report = view.report
    kafka = sum(one.kafka_bytes or 0 for one in report.directories)
    replicas = sum(one.replicas or 0 for one in report.directories)
    stored = f"Kafka stores {size_words(kafka)} in {counted(replicas, 'replica')}"
    volumes = report.volumes()
    if volumes:
        total, usable = (sum(one.total_bytes or 0 for one in volumes), sum(one.usable_bytes or 0 for one in volumes))
        shared = any(one.may_share_volume for one in report.directories)
        note = "; directories of equal size and free space are counted as one volume" if shared else ""
        yield f"{size_words(usable)} usable of {size_words(total)}; {stored}{note}"
    elif report.directories:
        yield f"{stored}; capacity is not known: brokers tell it from Kafka 3.3 on"
    if view.unknown:
        yield f"not known for broker {', '.join(map(str, view.unknown))}"


def _interval(view: ClusterDisks) -> Iterator[str]:
    assert view.earlier is not None
    seconds = (view.snapshot.taken_at - view.earlier.taken_at).total_seconds()
    since = utc(view.earlier.taken_at)
    short = "; too short to say much about days" if seconds < LITTLE_TIME else ""
    yield f"usable space over {spell_duration(seconds)}, since {since}, drawn on as a straight line{short}"


_DIRECTORY = (
    *(TableColumn("BROKER"), TableColumn("PATH"), TableColumn("STATE"), TableColumn("CAPACITY", drop=4)),
    *(TableColumn("USABLE"), TableColumn("%", drop=5), TableColumn("KAFKA"), TableColumn("REPLICAS", drop=3)),
    *(TableColumn("STRAYS", drop=2), TableColumn("FUTURE", drop=1)),
)
_GROWTH = (TableColumn("FILLED", drop=6), TableColumn("FULL_IN"))


def _print_directories(view: ClusterDisks, console: Console) -> None:
    timed = view.earlier is not None
    rows = []
    for one in view.report.directories:
        percent = None if one.usable_percent is None else f"{one.usable_percent:.1f}"
        sizes = [_size(one.total_bytes), _size(one.usable_bytes), percent, _size(one.kafka_bytes)]
        row = [one.broker, one.path, one.error or "online", *sizes, one.replicas, one.strays, one.futures]
        rows.append(row + (_growth_cells(one) if timed else []))
    print_columns(console, [*_DIRECTORY, *(_GROWTH if timed else ())], rows)


def _growth_cells(one: LogDirectory) -> list[object]:
    growth = one.growth
    assert growth is not None
    full = growth.trend.value
    if growth.trend is Trend.FILLING:
        assert growth.days_until_full is not None
        full = spell_duration(growth.days_until_full * SECONDS_A_DAY)
    return [_size(growth.filled_bytes), full]


def _size(count: int | None) -> str | None:
    return None if count is None else size_words(count)


_LARGEST = (
    *(TableColumn("LARGEST"), TableColumn("PARTITION"), TableColumn("SIZE"), TableColumn("ALL_COPIES", drop=1)),
    TableColumn("BROKERS"),
)
_KEPT = (TableColumn("CLEANUP", drop=2), TableColumn("KEPT_FOR", drop=4), TableColumn("KEPT_SIZE", drop=3))


def _print_largest(largest: tuple[StoredPartition, ...], console: Console) -> None:
    told = any(one.retention for one in largest)
    rows = [_largest_cells(one) + (_kept(one) if told else []) for one in largest]
    print_columns(console, [*_LARGEST, *(_KEPT if told else ())], rows)


def _largest_cells(one: StoredPartition) -> list[object]:
    return [one.topic, one.partition, size_words(one.bytes), size_words(one.all_bytes), list(one.brokers)]


def _kept(one: StoredPartition) -> list[object]:
    """Cleanup policy, retention by time and by size, each with where it is set; those that rule the local disk."""
    local = "local." if one.retention.get("remote.storage.enable", ("false", ""))[0] == "true" else ""
    by_time, by_size = (_local(one, f"{local}retention.{unit}") for unit in ("ms", "bytes"))
    return [
        _with_origin(one.retention.get("cleanup.policy"), str),
        _with_origin(by_time, lambda text: spell_duration(int(text) / 1000)),
        _with_origin(by_size, lambda text: size_words(int(text))),
    ]


def _local(one: StoredPartition, name: str) -> tuple[str | None, str] | None:
    """The setting of that name; -2 of a local one means the topic's own."""
    found = one.retention.get(name)
    return one.retention.get(name.removeprefix("local.")) if found is not None and found[0] == "-2" else found


def _with_origin(setting: tuple[str | None, str] | None, spell: Callable[[str], str]) -> str | None:
    value, origin = setting or (None, "")
    if value is None:
        return None
    return f"{'unlimited' if value == _UNLIMITED else spell(value)} ({origin})"


def _strays(view: ClusterDisks) -> Iterator[str]:
    strays = view.report.strays
    for one in strays[:MOST_SHOWN]:
        place = f"{one.topic}-{one.partition} on broker {one.broker}"
        yield f"{place}: {size_words(one.bytes)} in {one.log_dir}, {one.reason}"
    if len(strays) > MOST_SHOWN:
        yield f"and {len(strays) - MOST_SHOWN} more: all of them by -o json"
    if strays:
        yield "look again before removing any: a topic being made, moved or deleted just then looks the same"


def _futures(view: ClusterDisks) -> Iterator[str]:
    futures = view.report.futures
    for one in futures[:MOST_SHOWN]:
        of = "" if one.of_bytes is None else f" of {size_words(one.of_bytes)}"
        lag = "" if one.lag is None else f", {counted(one.lag, 'record')} behind"
        way = f"{one.from_dir or 'unknown'} to {one.to_dir}"
        yield f"{one.topic}-{one.partition} on broker {one.broker}: {size_words(one.bytes)}{of} from {way}{lag}"
    if len(futures) > MOST_SHOWN:
        yield f"and {len(futures) - MOST_SHOWN} more: all of them by -o json"


def _next(view: ClusterDisks, sources: SourceOptions) -> Iterator[str]:
    connection_options = sources.again(view.snapshot.name)
    for one in view.report.offline[:1]:
        yield f"kreplica describe {connection_options} --under-replicated --broker {one.broker}"
    if view.earlier is None and sources.dump is None and len(view.snapshot.log_dirs):
        yield f"kreplica snapshot {connection_options} --out dumps"
        yield f"kreplica disks {connection_options} --since dumps"
