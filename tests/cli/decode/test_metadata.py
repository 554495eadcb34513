"""kreplica decode metadata, and a metadata log as the dump of other commands."""

from __future__ import annotations

import io
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from log_files.flipped_bits import flip

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
from log_files.kafka_dumps import GOLDEN, dumped

NODE = GOLDEN / "kafka-4.3.1" / "killed-all" / "broker-1"
DATA = NODE / "data"
LOG = DATA / "__cluster_metadata-0"
PRINTED = dumped(GOLDEN / "kafka-4.3.1" / "dump-killed-all" / "broker-1" / "cluster-metadata.txt.gz")
RECORDS = PRINTED["data/__cluster_metadata-0/00000000000000000000.log"]
RETURNED = "615"
"""The high watermark in state 1-healthy (kafka-metadata-quorum)."""


def printed(*words: str) -> int:
    """How many records of Kafka's dump of the log hold all these words."""
    return sum(line.startswith("|") and all(word in line for word in words) for line in RECORDS)


def test_the_history_counts_what_kafka_s_dump_shows(kreplica: Any) -> None:
    ended = kreplica("decode", "metadata", DATA, "-o", "json")
    assert (ended.code, ended.err) == (1, ""), "it tells of an unclean election"
    assert kreplica("decode", "metadata", DATA, "--exit-zero").code == 0
    document = ended.document
    assert list(document) == ["schema", "clusters", "changes", "summary", "warnings"]
    assert document["clusters"][0]["cluster_id"] == "i0iQ6TlnRRmrapXchcJ1Uw"
    summary = document["summary"]
    assert summary["changes"]["created"] == printed('"PARTITION_RECORD"')
    assert summary["changes"]["leader"] == printed('"PARTITION_CHANGE_RECORD"', '"leader":')
    assert summary["changes"]["unclean"] == printed('"PARTITION_CHANGE_RECORD"', '"leaderRecoveryState":1') == 2
    assert summary["records"]["NO_OP_RECORD"] == printed('"NO_OP_RECORD"')
    assert summary["records"]["LEADER_CHANGE"] == printed("LeaderChange:")
    assert (summary["next_offset"], summary["quorum_leader"], summary["voters"]) == (2456, 2, [1, 2, 3])
    assert len(document["changes"]) == sum(map(bool, (row["topic"] for row in document["changes"])))


def test_who_led_is_each_record_that_names_a_leader(kreplica: Any) -> None:
    rows = kreplica("decode", "metadata", DATA, "--who-led", "orders-0", "-o", "json").document["changes"]
    topic_id = re.search(r'"name":"orders","topicId":"([^"]+)"', "\n".join(RECORDS))[1]  # type: ignore[index]
    place = (f'"partitionId":0,"topicId":"{topic_id}"', '"leader":')
    told = [
        (int(re.search(r"offset: (\d+)", line)[1]), int(re.search(r'"leader":(-?\d+)', line)[1]))  # type: ignore[index]
        for line in RECORDS
        if all(word in line for word in place)
    ]
    assert [(row["offset"], -1 if row["leader"] is None else row["leader"]) for row in rows] == told
    assert [row["leader_epoch"] for row in rows] == list(range(len(told)))
    text = kreplica("decode", "metadata", DATA, "--who-led", "orders-0").out
    assert "34      2026-11-21T07:01:29.329Z  3       0             3,1,2  created" in text
    assert "no replica could lead" in text
    assert text.endswith("OK 7 changes of the leader of orders-0 in offsets 0 to 2456\n")


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """The log when a broker has cut it behind its newest checkpoint (KafkaMetadataLog.deleteBeforeSnapshot)."""
    home = tmp_path / LOG.name
    home.mkdir()
    checkpoint = f"{CUT:020d}-0000000001.checkpoint"
    shutil.copy(LOG / checkpoint, home / checkpoint)
    (home / f"{CUT:020d}.log").write_bytes((LOG / f"{0:020d}.log").read_bytes()[CUT_AT:])
    return home


CUT, CUT_AT, EPOCH_1_ENDS_AT = 1947, 131849, 132060
"""An offset, the position of its batch and that of the first batch of another leader (kafka-dump-log)."""


def test_who_led_when_a_log_that_was_cut_begins(kreplica: Any, cut: Path) -> None:
    ended = kreplica("decode", "metadata", cut, "--who-led", "orders-0")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "OFFSET  TIME                      LEADER  LEADER_EPOCH  ISR  HOW",
        "1947    2026-11-21T07:08:01.143Z  -       5             -    held then; what was before is gone",
        "2095    2026-11-21T07:08:13.298Z  1       6             1    elected",
        "OK 1 change of the leader of orders-0 in offsets 1947 to 2456",
    ]
    rows = kreplica("decode", "metadata", cut, "--who-led", "orders-0", "-o", "json").document["changes"]
    assert [(row["offset"], row["leader_before"], row["leader"], row["kinds"]) for row in rows] == [
        (1947, None, None, []),
        (2095, None, 1, ["leader", "isr", "elr"]),
    ]
    gone = kreplica("decode", "metadata", cut, "--diff", "100", "2000")
    assert gone.code == 2
    assert gone.err.endswith("begins at offset 1947; the earliest state that is left is that at offset 1947\n")


@pytest.mark.parametrize(("epoch", "leader"), [(1, 2), (2, None)])
def test_the_leader_that_only_quorum_state_tells(kreplica: Any, cut: Path, epoch: int, leader: int | None) -> None:
    """Its record was cut away, while the epoch goes on."""
    segment = cut / f"{CUT:020d}.log"
    segment.write_bytes(segment.read_bytes()[: EPOCH_1_ENDS_AT - CUT_AT])
    (cut / "quorum-state").write_text(f'{{"leaderId":2,"leaderEpoch":{epoch},"votedId":2,"data_version":1}}')
    assert kreplica("decode", "metadata", cut, "-o", "json").document["summary"]["quorum_leader"] == leader


def test_the_screen_says_what_may_have_been_lost_first(kreplica: Any) -> None:
    ended = kreplica("decode", "metadata", DATA)
    lines = ended.out.splitlines()
    assert lines[0].startswith("UNCLEAN 2 unclean elections (records may have been lost), 515 leader changes")
    assert f"kreplica decode metadata {DATA} --kind unclean" in ended.out
    assert "metadata.version 30 (4.3-IV0), share.version 1, " in ended.out
    compared = kreplica("decode", "metadata", DATA, "--diff", "2", "40").out
    assert "metadata.version: not set, then 30 (4.3-IV0)\n" in compared
    listed = kreplica("decode", "metadata", DATA, "--kind", "unclean")
    assert [line.split()[2:4] for line in listed.out.splitlines()[1:3]] == [["single-copy", "0"], ["single-copy", "2"]]


def test_a_comparison_is_what_changed_between_two_states(kreplica: Any) -> None:
    """Broker 3 was killed between the two; topics-describe of both states is what the sample and the fleet hold."""
    ended = kreplica("decode", "metadata", DATA, "--diff", RETURNED, "1010", "-o", "json")
    document = ended.document
    differences = document["summary"]["differences"]
    assert differences["brokers"] == [{"broker": 3, "before": "active", "after": "fenced"}]
    rows = {(row["topic"], row["partition"]): row for row in document["changes"]}
    assert rows["orders", 0]["leader_before"] == 3
    assert (rows["orders", 0]["leader"], rows["orders", 0]["isr"], rows["orders", 0]["offset"]) == (1, [1, 2], None)
    assert rows["to-be-deleted", 0]["kinds"] == ["removed"]
    text = kreplica("decode", "metadata", DATA, "--diff", RETURNED, "1010", "--topic", "orders").out
    assert "brokers  3: active, then fenced" in text
    assert kreplica("decode", "metadata", DATA, "--diff", "5", "5").out.startswith(
        "DIFF 0 partitions changed between offsets 5 and 5"
    )


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    """The log of one node, and that of another which was behind: without the last ten batches."""
    for node in ("a", "b"):
        (tmp_path / node).mkdir()
        shutil.copy(DATA / "meta.properties", tmp_path / node)
        shutil.copytree(LOG, tmp_path / node / LOG.name)
    segment = tmp_path / "a" / LOG.name / f"{0:020}.log"
    segment.write_bytes(segment.read_bytes()[: batches()[-10][1]])
    return tmp_path


def batches() -> list[tuple[int, int, int]]:
    """Base offset, position and leader epoch of each batch in Kafka's dump."""
    pattern = re.compile(r"baseOffset: (\d+) .*partitionLeaderEpoch: (\d+) .*position: (\d+) ")
    found = [pattern.search(line) for line in RECORDS]
    return [(int(each[1]), int(each[3]), int(each[2])) for each in found if each]


def test_of_several_nodes_the_log_that_goes_furthest_is_read(kreplica: Any, nodes: Path) -> None:
    alone = kreplica("decode", "metadata", nodes / "b", "-o", "json").document
    behind = {
        "metadata_log": str(nodes / "a" / LOG.name),
        "leader_epoch": batches()[-11][2],
        "end_offset": batches()[-10][0],
    }
    assert alone["summary"]["other_logs"] == []
    for paths in ([nodes], [nodes / "a", nodes / "b"], [nodes / "b" / LOG.name, nodes / "a"], [nodes / "?"]):
        ended = kreplica("decode", "metadata", *paths, "-o", "json")
        assert ended.code == 1
        assert (ended.document["clusters"], ended.document["changes"]) == (alone["clusters"], alone["changes"])
        assert ended.document["summary"] == {**alone["summary"], "other_logs": [behind]}
        assert ended.err == (
            f"warning: {nodes / 'a' / LOG.name} is another copy of the metadata log, up to offset"
            f" {behind['end_offset']} of epoch {behind['leader_epoch']}, not read\n"
        )
    shown = kreplica("decode", "metadata", nodes / "a", nodes / "b").out
    assert f"kreplica decode metadata {nodes / 'a'} {nodes / 'b'} --who-led" in shown
    assert shown.endswith(f"kreplica describe --dump {nodes / 'b' / LOG.name}\n")


def test_files_of_one_log_may_be_named_one_by_one(kreplica: Any) -> None:
    """As a shell does of __cluster_metadata-0/*, indexes among them."""
    whole = kreplica("decode", "metadata", LOG, "-o", "json")
    assert kreplica("decode", "metadata", *sorted(LOG.iterdir())).out == kreplica("decode", "metadata", LOG).out
    assert kreplica("decode", "metadata", *sorted(LOG.iterdir()), "-o", "json").document == whole.document


def test_logs_of_two_clusters_have_no_common_history(kreplica: Any, nodes: Path) -> None:
    properties = nodes / "a" / "meta.properties"
    properties.write_text(re.sub(r"cluster\.id=.*", "cluster.id=another", properties.read_text()))
    ended = kreplica("decode", "metadata", nodes)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"error: metadata logs of 2 clusters; another in {nodes / 'a'}, i0iQ6TlnRRmrapXchcJ1Uw in {nodes / 'b'};"
        " name those of one\n"
    )


def test_a_checkpoint_alone_is_a_state(kreplica: Any) -> None:
    (checkpoint,) = LOG.glob("*1947-*.checkpoint")
    out = kreplica("decode", "metadata", checkpoint).out
    assert out.startswith("OK the state at offset 1947: no record behind it tells a history\n")
    assert "143 partitions of 18 topics, 3 brokers" in out


def test_an_empty_segment_tells_no_history(kreplica: Any, tmp_path: Path) -> None:
    """What a power failure may leave of a log that was just begun."""
    home = tmp_path / LOG.name
    home.mkdir()
    (home / f"{0:020}.log").write_bytes(b"")
    ended = kreplica("decode", "metadata", home)
    assert ended.code == 0
    assert ended.out.startswith("OK the state at offset 0: no record behind it tells a history\n")


def test_a_password_in_a_setting_is_hidden(kreplica: Any, tmp_path: Path) -> None:
    """Metadata logs hold passwords of dynamic listener settings as they are."""
    from kreplica.formats.metadata_log.image import MetadataImage
    from kreplica.sources.dumps.kraft import shown_settings

    image = MetadataImage(configs={(4, "1"): {"listener.name.x.ssl.keystore.password": "geheim", "a": "b"}})
    assert "geheim" not in str(shown_settings(image))
    assert shown_settings(image)["broker 1", "a"] == "b"


def test_parquet_has_typed_columns(process: Any) -> None:
    out, err = process("decode", "metadata", DATA, "--kind", "isr", "-o", "parquet").communicate(timeout=60)
    assert err == b""
    table = pq.read_table(io.BytesIO(out))
    assert table.schema.field("offset").type == pa.int64()
    assert table.schema.field("isr").type.value_type == pa.int32()
    assert table.num_rows > 1000


def test_damage_is_told_and_the_rest_is_read(kreplica: Any, tmp_path: Path) -> None:
    home = tmp_path / "__cluster_metadata-0"
    shutil.copytree(LOG, home)
    segment = home / "00000000000000000000.log"
    flip(segment, 40_350)
    ended = kreplica("decode", "metadata", home, "-o", "json")
    assert ended.code == 1
    (damage,) = ended.document["summary"]["damage"]
    assert damage["file"] == str(segment)
    assert damage["position"] <= 40_350 < damage["position"] + damage["skipped"]
    assert ended.err.startswith(f"warning: {segment}, byte {damage['position']}: ")
    assert kreplica("decode", "metadata", home).out.startswith("DAMAGED 1 damaged place in the metadata log")
    # Another command answers from what is left, and says so: the newest checkpoint is behind the damage.
    assert kreplica("describe", "--dump", f"{home}@700", "--offline").code in (1, 5)


def test_describe_takes_the_log_as_a_dump(kreplica: Any) -> None:
    """The sample is the same cluster in the same state, asked while it ran."""
    sample = kreplica("describe", "--dump", "sample", "--under-replicated", "-o", "csv").out
    replayed = kreplica("describe", "--dump", f"{DATA}@1010", "--under-replicated", "-o", "json")
    assert replayed.code == 1
    (cluster,) = replayed.document["clusters"]
    assert (cluster["cluster_id"], cluster["source"]) == ("i0iQ6TlnRRmrapXchcJ1Uw", "kraft-metadata")
    assert len(replayed.document["partitions"]) == len(sample.splitlines()) - 1 == 141


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no-such-file"], "error: cannot read no-such-file; there is no such file or directory"),
        ([str(DATA), "--who-led", "orders"], "error: --who-led orders names no partition; --who-led orders-0"),
        ([str(DATA), "--who-led", "nope-0"], "error: the log says nothing of nope-0; at its end it holds 18 topics"),
        (
            [str(LOG / f"{0:020d}-{0:010d}.checkpoint"), "--who-led", "orders-0"],
            "error: the log says nothing of orders-0; at its end it holds no topic; a partition is written",
        ),
        ([str(DATA), "--who-led", "orders-0", "--topic", "x"], "error: --who-led lists the leaders of one partition"),
        ([str(DATA), "--diff", "9", "3"], "error: --diff 9 3 does not go forward"),
        ([str(DATA), "--diff", "0", "99999"], "error: cannot read "),
        ([str(DATA), "--kind", "x"], "error: invalid value for '--kind'"),
        ([str(DATA), "--topic", "("], "error: '(' is not a regular expression"),
    ],
)
def test_bad_input_is_one_line(
    kreplica: Any, words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kreplica("decode", "metadata", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(message)
    assert ended.err.count("\n") == 1
