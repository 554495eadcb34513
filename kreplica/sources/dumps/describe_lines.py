r"""The lines of `kafka-topics --describe`, of every release from 0.8 to 4.x.

A topic's header, then a line for each of its partitions; fields are separated by tabs (by spaces, once a text was
copied from a terminal)::

    0.8.0     topic: T  partition: 0  leader: 1  replicas: 1,2  isr: 1,2                      (kafka-list-topic.sh)
    0.8.1     Topic:T  PartitionCount:1  ReplicationFactor:2  Configs:k=v,k=v[  MarkedForDeletion:true]
                Topic: T  Partition: 0  Leader: 1|none|-1  Replicas: 1,2  Isr: 1,2[  MarkedForDeletion: true]
    2.4       Topic: T  PartitionCount: 1  ReplicationFactor: 2  Configs: k=v[  MarkedForDeletion: true]
    2.6         ... Isr: 1,2[  Adding Replicas: 3  Removing Replicas: 1]
    2.8       Topic: T  TopicId: <22 characters>  PartitionCount: ...
    3.8         ... Isr: 1,2[  Adding Replicas: ...]  Elr: 2|N/A  LastKnownElr: 3|N/A

Source: kafka.admin.ListTopicCommand (0.8.0), kafka.admin.TopicCommand (0.8.1 to 3.6),
org.apache.kafka.tools.TopicCommand (from 3.7).
"""

from __future__ import annotations

import re

_NAME = r"[A-Za-z0-9._-]{1,255}"
_NUMBER = "[0-9]{1,10}"
_IDS = f"{_NUMBER}(?:,{_NUMBER})*"
_SPACE = r"[ \t]*"
_GAP = r"[ \t]+"


def _partition_pattern(keys: tuple[str, str, str, str, str]) -> str:
    topic, partition, leader, replicas, isr = (f"{key}:{_SPACE}" for key in keys)
    return (
        f"{_SPACE}{topic}({_NAME}){_GAP}{partition}({_NUMBER}){_GAP}{leader}({_NUMBER}|-1|none)"
        f"{_GAP}{replicas}({_IDS}){_GAP}{isr}({_IDS})?"
    )


_REASSIGNMENT = f"(?:{_GAP}Adding Replicas:{_SPACE}({_IDS})?{_GAP}Removing Replicas:{_SPACE}({_IDS})?)?"
_ELIGIBLE = f"(?:{_GAP}Elr:{_SPACE}({_IDS}|N/A)?{_GAP}(LastKnownElr):{_SPACE}({_IDS}|N/A)?)?"
_MARKED = f"(?:{_GAP}(MarkedForDeletion):{_SPACE}true)?"

PARTITION_LINE = re.compile(
    _partition_pattern(("Topic", "Partition", "Leader", "Replicas", "Isr"))
    + _REASSIGNMENT
    + _ELIGIBLE
    + _MARKED
    + f"{_SPACE}$"
)
"""Groups: topic, partition, leader, replicas, isr, adding, removing, elr, the word LastKnownElr if the release prints
it, last known elr, the word MarkedForDeletion if it is marked. A list is None if it is empty or not printed."""

OLD_PARTITION_LINE = re.compile(_partition_pattern(("topic", "partition", "leader", "replicas", "isr")) + f"{_SPACE}$")
"""Groups: topic, partition, leader, replicas, isr."""

HEADER_LINE = re.compile(
    f"{_SPACE}Topic:({_SPACE})({_NAME})(?:{_GAP}TopicId:{_SPACE}([A-Za-z0-9_-]{{22}}))?{_GAP}PartitionCount:{_SPACE}({_NUMBER})"
    # No space between Configs: and the group: where there are none, it belongs to what follows.
    f"{_GAP}ReplicationFactor:{_SPACE}({_NUMBER}){_GAP}Configs:(.*?){_MARKED}{_SPACE}$"
)
"""Groups: space before the name (none before 2.4), topic, topic id, partition count, replication factor, configs,
the word MarkedForDeletion if it is marked."""

LOG_LINE = re.compile(
    r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]\d{3}\]? +\[?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b"
    r"|SLF4J(?:\([A-Z]\))?: "
    r"|log4j:(?:WARN|ERROR) "
    r"|(?:WARNING|Warning): "
    r"|(?:OpenJDK|Java HotSpot\(TM\)) .*\bVM warning: "
    r"|(?:NOTE: )?Picked up (?:JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS): "
    r'|Defaulted container "'
    r"|[ \t]+at [\w.$/@]+(?:\.<init>)?\(.*\)$|Caused by: |[ \t]+\.\.\. \d+ (?:more|common frames omitted)$"
    r"|(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error)(?::|$)"
    r"|\[stderr\]$"
)
"""Lines that Java, its loggers and kubectl print on standard error, mixed in where a user redirected both streams, or
after the line `[stderr]` where a script recorded one after the other.
"""

TOOL_FAILURE = re.compile(
    r"Error while executing topic command ?:|list topic failed because of|no topics exist!"
    r"|Error: |Exception in thread |Missing required argument"
)
"""Messages of Kafka's tool that it failed: the lines before may be incomplete."""

ABSENT_TOPIC = re.compile(rf"[Tt]opic ({_NAME}) doesn't exist!$")
"""A topic that has a name but no assignment yet, or no longer; ZooKeeper mode, until 2.8."""

_SETTING_START = re.compile(r"(?:^|,)[ \t]*(?=[A-Za-z][A-Za-z0-9._-]*=)")
_KEY = re.compile(
    r"\b(Topic|TopicId|PartitionCount|ReplicationFactor|Configs|Partition|Leader|Adding Replicas|Removing Replicas"
    r"|Replicas|Isr|Elr|LastKnownElr|MarkedForDeletion|topic|partition|leader|replicas|isr):"
)
_EXPECTED = {
    "topic": (_NAME, "a topic name"),
    "topicid": ("[A-Za-z0-9_-]{22}", "a topic id of 22 characters"),
    "partitioncount": (_NUMBER, "a number"),
    "replicationfactor": (_NUMBER, "a number"),
    "configs": (".*", "settings"),
    "partition": (_NUMBER, "a partition number"),
    "leader": (f"{_NUMBER}|-1|none", "a broker id or none"),
    "replicas": (_IDS, "broker ids separated by commas"),
    "isr": (f"(?:{_IDS})?", "broker ids separated by commas"),
    "adding replicas": (f"(?:{_IDS})?", "broker ids separated by commas"),
    "removing replicas": (f"(?:{_IDS})?", "broker ids separated by commas"),
    "elr": (f"(?:{_IDS}|N/A)?", "broker ids separated by commas, or N/A"),
    "lastknownelr": (f"(?:{_IDS}|N/A)?", "broker ids separated by commas, or N/A"),
    "markedfordeletion": ("true", "true"),
}


def split_settings(text: str) -> dict[str, str] | None:
    """Splits ``a=1,b=2``; None if it is not of that form.

    Values hold commas themselves (``cleanup.policy=compact,delete``, ``...throttled.replicas=0:1,0:2``), so a comma
    divides only where a name and ``=`` follow it.
    """
    if not text.strip():
        return {}
    starts = list(_SETTING_START.finditer(text))
    if not starts or starts[0].start() != 0:
        return None
    ends = [start.start() for start in starts[1:]] + [len(text)]
    pairs = (text[start.end() : end].split("=", 1) for start, end in zip(starts, ends, strict=True))
    return {name: value.strip() for name, value in pairs}


def explain(line: str) -> str:
    """Why a line that no pattern matches is refused: the first field that is wrong or missing."""
    found = list(_KEY.finditer(line))
    if not found or line[: found[0].start()].strip() or found[0][1] not in ("Topic", "topic"):
        return f"not a line that kafka-topics --describe prints: {shorten(line)}"
    bounds = [key.start() for key in found[1:]] + [len(line)]
    values = [(key[1], line[key.end() : end].strip()) for key, end in zip(found, bounds, strict=True)]
    return _missing_key([key for key, _ in values]) or _wrong_value(values) or f"fields out of order: {shorten(line)}"


def shorten(line: str) -> str:
    """A line as it is quoted in a message."""
    text = line.strip()
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


def _needed_keys(keys: list[str]) -> list[str]:
    if keys[0] == "topic":
        return ["partition", "leader", "replicas", "isr"]
    if any(key in keys for key in ("TopicId", "PartitionCount", "ReplicationFactor", "Configs")):
        return ["PartitionCount", "ReplicationFactor", "Configs"]
    pairs = (("Adding Replicas", "Removing Replicas"), ("Elr", "LastKnownElr"))
    return ["Partition", "Leader", "Replicas", "Isr", *(second for first, second in pairs if first in keys)]


def _missing_key(keys: list[str]) -> str | None:
    for key in _needed_keys(keys):
        if key not in keys:
            return f"{key} is missing; the line may be cut off"
    twice = next((key for key in keys if keys.count(key) > 1), None)
    return f"{twice} stands there twice; two lines may have run together" if twice else None


def _wrong_value(values: list[tuple[str, str]]) -> str | None:
    for key, value in values:
        pattern, expected = _EXPECTED[key.lower()]
        if not re.fullmatch(pattern, value):
            return f"{key} is {value!r}, not {expected}" if value else f"{key} is empty, not {expected}"
    return None
