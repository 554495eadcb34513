"""kreplica disks: what it says of the packaged dumps is what their Parquet files hold; gates; growth; bad input."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from clusters.generated import partition, snapshot_of

from kreplica.store.writing import write_snapshot

SAMPLE = Path(str(files("kreplica") / "data" / "sample"))
FLEET = Path(str(files("kreplica") / "data" / "fleet"))
TEXT = Path(__file__).parents[2] / "golden" / "kafka-4.3.1" / "1-healthy" / "topics-describe.txt"
CLUSTER = "i0iQ6TlnRRmrapXchcJ1Uw"


def stored(folder: Path, table: str, time: str = "") -> list[dict[str, Any]]:
    """Rows of a table, read without kreplica."""
    (path,) = (folder / table).glob(f"*/cluster={CLUSTER}/{time}*.parquet")
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def test_rows_and_largest_partitions_of_the_sample(kreplica: Any) -> None:
    ended = kreplica("disks", "--dump", "sample", "--top", "3", "-o", "json")
    replicas = stored(SAMPLE, "replicas")
    sizes: Counter[tuple[int, str]] = Counter()
    for row in replicas:
        sizes[row["broker"], row["log_dir"]] += row["size"]
    counts = Counter((row["broker"], row["log_dir"]) for row in replicas)
    found = ended.document["log_dirs"]
    names = ("broker", "path", "error", "total_bytes", "usable_bytes")
    assert [{name: row[name] for name in names} for row in found] == stored(SAMPLE, "log_dirs")
    assert {(row["broker"], row["path"]): row["kafka_bytes"] for row in found} == dict(sizes)
    assert {(row["broker"], row["path"]): row["replicas"] for row in found} == dict(counts)
    summary = ended.document["summary"]
    largest = sorted({(-row["size"], row["topic"], row["partition"]) for row in replicas})[:3]
    assert [(-one["bytes"], one["topic"], one["partition"]) for one in summary["largest"]] == largest
    # All of it was recorded on one machine with one disk: its capacity is not counted three times.
    assert (summary["total_bytes"], summary["volumes"]) == (found[0]["total_bytes"], 1)
    assert (summary["strays"], summary["futures"], summary["brokers_not_known"]) == ([], [], [3])
    assert ended.code == 5
    assert ended.err == "warning: log directories of broker 3 are not known\n"


def test_the_screen_gives_the_verdict_first_and_sizes_in_words(kreplica: Any) -> None:
    out = kreplica("disks", "--dump", "sample", "--top", "1").out
    assert out.startswith("INCOMPLETE no trouble in the 3 log directories that are known\n")
    assert "65.0 GiB usable of 252.0 GiB; Kafka stores 1.1 MiB in 284 replicas" in out
    assert "are counted as one volume" in out
    assert "bulk-move  0          183.1 KiB  366.3 KiB   1,2" in out
    assert "CLEANUP" not in out  # the sample knows no retention


def test_brokers_narrow_the_answer(kreplica: Any) -> None:
    ended = kreplica("disks", "--dump", "sample", "--broker", "2", "-o", "json")
    assert [row["broker"] for row in ended.document["log_dirs"]] == [2]
    assert ended.code == 0
    assert kreplica("disks", "--dump", "sample", "--broker", "3").code == 5
    unknown = kreplica("disks", "--dump", "sample", "--broker", "9")
    assert unknown.code == 2
    assert unknown.err == "error: no broker 9; known are 1, 2, 3\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--broker", "2"], 0),
        (["--broker", "2", "--min-usable", "25"], 0),
        (["--broker", "2", "--min-usable", "26"], 1),
        (["--broker", "2", "--min-usable", "26", "--exit-zero"], 0),
        (["--min-usable", "25"], 5),  # broker 3 is dead: nothing worse was found, but not all is known
        (["--min-usable", "26"], 1),
    ],
)
def test_a_gate_on_usable_space(kreplica: Any, words: list[str], code: int) -> None:
    assert kreplica("disks", "--dump", "sample", *words).code == code


def test_growth_between_two_recorded_snapshots(kreplica: Any) -> None:
    newest = max((FLEET / "manifests").glob(f"*{CLUSTER}*"))
    ended = kreplica("disks", "--dump", newest, "--since", FLEET, "-o", "json")
    now, then = stored(FLEET, "log_dirs", "20261121T070847"), stored(FLEET, "log_dirs", "20261121T070354")
    before = {(row["broker"], row["path"]): row["usable_bytes"] for row in then}
    filled = {(row["broker"], row["path"]): before[row["broker"], row["path"]] - row["usable_bytes"] for row in now}
    rows = ended.document["log_dirs"]
    assert {(row["broker"], row["path"]): row["filled_bytes"] for row in rows} == filled
    assert all(value < 0 for value in filled.values())
    assert {(row["trend"], row["days_until_full"]) for row in rows} == {("not growing", None)}
    assert {datetime.fromisoformat(row["since"]) for row in rows} == {
        datetime.fromisoformat("2026-11-21T07:03:54.458+00:00")
    }
    assert ended.code == 0
    said = kreplica("disks", "--dump", newest, "--since", FLEET).out
    assert "growth   usable space over 4 min 53 s, since 2026-11-21 07:03:54 UTC" in said
    assert "too short to say much about days" in said


def dump(folder: Path, day: int, usable: int | None, **facts: Any) -> Path:
    """A snapshot of one broker with one disk of 1000 bytes, taken at noon of that day."""
    directory = {"broker": 1, "path": "/d", "total_bytes": None if usable is None else 1000, "usable_bytes": usable}
    taken = datetime.fromisoformat(f"2026-03-{day:02}T12:00+00:00")
    brokers = [{"broker": 1, "alive": True}]
    named = {"taken_at": taken, **facts}
    snapshot = snapshot_of([partition(replicas=[1], isr=[1])], brokers, [directory], **named)
    write_snapshot(snapshot, folder)
    return folder


def test_days_until_full_and_their_gate(kreplica: Any, tmp_path: Path) -> None:
    for day, usable in ((1, 900), (8, 700), (10, 600)):
        dump(tmp_path, day, usable)
    oldest = kreplica("disks", "--dump", tmp_path, "--since", tmp_path, "-o", "json").document["log_dirs"][0]
    assert oldest["days_until_full"] == 18.0  # 300 bytes in 9 days, 600 left
    recent = ["disks", "--dump", tmp_path, "--since", "2026-03-08T13:00"]
    (row,) = kreplica(*recent, "-o", "json").document["log_dirs"]
    assert (row["filled_bytes"], row["days_until_full"]) == (100, 12.0)  # 100 bytes in 2 days, 600 left
    assert "full in" not in kreplica(*recent).out
    assert "100 bytes  12 d\n" in kreplica(*recent).out
    assert kreplica(*recent, "--min-days", "12").code == 0
    assert kreplica(*recent, "--min-days", "12.5").code == 1
    assert kreplica(*recent, "--min-days", "12.5").out.startswith("LIMIT 1 of 1 log directory below the limit given")


def test_a_volume_soon_full_is_said_first(kreplica: Any, tmp_path: Path) -> None:
    dump(tmp_path, 1, 900)
    dump(tmp_path, 3, 500)
    out = kreplica("disks", "--dump", tmp_path, "--since", tmp_path).out
    assert out.startswith("FILLING 1 of 1 log directory full within 7 days, first broker 1 /d\n")
    dump(tmp_path, 4, 99)
    assert kreplica("disks", "--dump", tmp_path).out.startswith("NEARLY FULL 1 of 1 log directory under 10 % usable")


def test_limits_of_ones_own_stand_in_place_of_the_others(kreplica: Any, tmp_path: Path) -> None:
    dump(tmp_path, 1, 900)
    dump(tmp_path, 3, 99)
    words = ["disks", "--dump", tmp_path]
    assert (kreplica(*words).code, kreplica(*words, "--min-usable", "9.9").code) == (1, 0)
    assert kreplica(*words, "--min-usable", "9.9").out.startswith("OK the only log directory is online")
    assert kreplica(*words, "--min-usable", "9.91").out.startswith("LIMIT 1 of 1 log directory below the limit given")
    words += ["--since", tmp_path, "--min-usable", "0"]  # 801 bytes in two days, 99 left: full within a quarter of one
    assert (kreplica(*words).code, kreplica(*words, "--min-days", "0.2").code) == (1, 0)
    assert kreplica(*words, "--min-days", "0.3").code == 1


def test_a_gate_never_passes_on_what_is_not_known(kreplica: Any, tmp_path: Path) -> None:
    dump(tmp_path, 1, None)
    dump(tmp_path, 3, None)
    words = ["disks", "--dump", tmp_path]
    assert kreplica(*words).code == 0
    assert "capacity is not known: brokers tell it from Kafka 3.3 on" in kreplica(*words).out
    assert kreplica(*words, "--min-usable", "1").code == 5
    assert kreplica(*words, "--since", tmp_path, "--min-days", "1").code == 5


def test_a_source_without_log_directories_is_incomplete(kreplica: Any) -> None:
    ended = kreplica("disks", "--dump", TEXT)
    assert ended.code == 5
    assert ended.out.startswith("INCOMPLETE no log directory is known of ")


@pytest.mark.parametrize(
    ("since", "said"),
    [
        ("nowhere", "--since nowhere: there is no such file or directory; name a dump directory or a manifest"),
        (FLEET, "--since {since} is not earlier; it was taken at 2026-11-21 07:03:54 UTC; name an older snapshot"),
        (TEXT, "--since {since} is another cluster; {since}, and this is i0iQ6TlnRRmrapXchcJ1Uw"),
    ],
)
def test_what_cannot_be_compared_is_refused(kreplica: Any, since: Any, said: str, tmp_path: Path) -> None:
    oldest = min((FLEET / "manifests").glob(f"*{CLUSTER}*"))
    ended = kreplica("disks", "--dump", oldest, "--since", since)
    assert ended.code == 2
    assert ended.err.startswith(f"error: {said.format(since=since)}")


def test_options_that_do_not_go_together(kreplica: Any, tmp_path: Path) -> None:
    alone = kreplica("disks", "--dump", "sample", "--min-days", "3")
    assert alone.code == 2
    assert alone.err.startswith("error: --min-days needs --since; growth takes two snapshots")
    dump(tmp_path, 1, 900)
    none = kreplica("disks", "--dump", tmp_path, "--since", "yesterday")
    assert none.err.startswith("error: --since yesterday is no moment")
    assert kreplica("disks", "--dump", "sample", "--since", tmp_path).err.startswith("error: cannot read")
