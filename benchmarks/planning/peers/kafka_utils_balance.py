"""Balances numbers of replicas over racks and brokers by Yelp's kafka-utils; runs in an environment of its own.

Reads JSON (brokers, racks, replicas) from stdin, prints JSON (seconds, replicas). No broker and no ZooKeeper is asked.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from argparse import Namespace

from kafka_utils.kafka_cluster_manager.cluster_info.cluster_topology import ClusterTopology
from kafka_utils.kafka_cluster_manager.cluster_info.partition_count_balancer import PartitionCountBalancer
from kafka_utils.kafka_cluster_manager.cluster_info.partition_measurer import UniformPartitionMeasurer


def main() -> None:
    logging.disable(logging.CRITICAL)
    given = json.load(sys.stdin)
    racks = dict(zip(given["brokers"], given["racks"], strict=True))
    assignment = {("t", number): row for number, row in enumerate(given["replicas"])}
    brokers = {broker: {"host": str(broker)} for broker in given["brokers"]}
    arguments = Namespace(replication_groups=True, brokers=True, leaders=False, balancer_args=[])
    began = time.perf_counter()
    measurer = UniformPartitionMeasurer(None, brokers, assignment, arguments)
    topology = ClusterTopology(assignment, brokers, measurer, lambda broker: str(racks[broker.id]))
    PartitionCountBalancer(topology, arguments).rebalance()
    seconds = time.perf_counter() - began
    done = topology.assignment
    json.dump({"seconds": seconds, "replicas": [done["t", number] for number in range(len(assignment))]}, sys.stdout)


if __name__ == "__main__":
    main()
