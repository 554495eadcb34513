"""Elections that an operator or a setting asks for."""

from __future__ import annotations

from conformance.script import (
    Consume,
    ElectPreferred,
    ElectUnclean,
    Kill,
    Produce,
    Row,
    SetTopic,
    Start,
    Step,
)

_LAGS = (
    Step(Produce(("a",))),
    Step(Kill(3)),
    Step(Produce(("b", "c"), 1)),
    Step(Kill(2)),
    Step(Start(3)),
)
"""Broker 3 is back without the records that only broker 2 has, which is gone."""

ROWS = (
    Row(
        "preferred-not-in-sync",
        "A preferred leader that is gone is not elected",
        (
            Step(Produce(("a",))),
            Step(Kill(2)),
            Step(ElectPreferred()),
            Step(Start(2)),
            Step(ElectPreferred()),
        ),
        replicas=(2, 3, 1),
    ),
    Row(
        "unclean-by-operator",
        "An unclean election by an operator loses what only the dead leader had, which cuts it when it is back",
        (*_LAGS, Step(ElectUnclean()), Step(Produce(("d",))), Step(Start(2)), Step(Consume())),
        replicas=(2, 3),
        settings={"min.insync.replicas": "1"},
    ),
    Row(
        "unclean-by-setting",
        "The setting elects a replica out of sync as soon as it is set, and loses the same",
        (
            *_LAGS,
            Step(SetTopic("unclean.leader.election.enable", "true")),
            Step(Produce(("d",))),
            Step(Start(2)),
            Step(Consume()),
        ),
        replicas=(2, 3),
        settings={"min.insync.replicas": "1"},
    ),
    Row(
        "unclean-allowed-from-the-start",
        "Where unclean elections are allowed a replica out of sync leads as soon as it is there",
        (*_LAGS, Step(Produce(("d",))), Step(Start(2)), Step(Consume())),
        replicas=(2, 3),
        settings={"min.insync.replicas": "1", "unclean.leader.election.enable": "true"},
    ),
)
