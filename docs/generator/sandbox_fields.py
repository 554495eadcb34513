"""Meanings of the fields of the answers of ``kreplica sandbox`` mean; ``answer_fields`` puts them in place."""

from __future__ import annotations

SERVERS = {
    "sandbox": "name of the sandbox",
    "id": "node id; 0 is ZooKeeper",
    "roles": "broker, controller, zookeeper",
    "state": "running, paused or ended",
    "registered": "whether the cluster counts the broker as alive",
    "rack": "broker.rack",
    "pid": "process id",
    "endpoints": "listeners and their addresses",
    "log": "file with what the server printed",
}
LOAD = {
    "topic": "topic name",
    "partition": "partition index",
    "sent": "records handed to the producer",
    "acknowledged": "records the brokers acknowledged",
    "refused": "records the producer gave up on",
    "read_back": "acknowledged records found in the log afterwards",
    "lost": "acknowledged records that are not there",
    "unread": "acknowledged records in partitions that could not be read to the end",
    "duplicated": "records that stand in the log more than once",
    "out_of_order": "records that stand behind a later one",
}
STOPPED = {"sandbox": SERVERS["sandbox"], "state": "removed"}
