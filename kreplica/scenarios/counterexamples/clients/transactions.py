"""Counterexamples of transactions that are ended late, as plans for the scenario ``delayed-end-transaction``.

The connection to the coordinator breaks with the EndTxn of the first transaction under way; it is sent again at once,
and the first one arrives when the counterexample has it: before, between or after the records of the second.
"""

from __future__ import annotations

from collections.abc import Sequence

from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.models.clients.traces.transactions import COORDINATOR, TRANSFER
from kreplica.engine.explorer.models.clients.transactions import ABORT, COMMIT, TransactionsState
from kreplica.engine.fault_plan import At, BreakConnection, Step
from kreplica.engine.plans.file import PlanFile
from kreplica.engine.plans.omissions import LeaveOut
from kreplica.engine.setup import MILLISECOND, Transaction, TransactionalSetup
from kreplica.engine.versions.supported import LATEST
from kreplica.model.settings import TRANSACTION_VERSION
from kreplica.scenarios.library.transactions.delayed_end_transaction import SCENARIO

UNDER_WAY, APART = MILLISECOND // 10, 500 * MILLISECOND
"""Time from the request until its connection breaks, and from another step until it arrives."""
VERSION_2 = {TRANSACTION_VERSION: "2"}
MENDS = {"ends-as-asked": VERSION_2, "not-half-visible": VERSION_2}
"""By invariant the setting that keeps it."""


def transaction_plan(_model: Model, steps: Sequence[Taken]) -> PlanFile | None:
    """The plan of a counterexample; None if the scenario has no such transactions, or more than one request is late.

    Args:
        _model: One of the models of ends of transactions.
        steps: The counterexample.
    """
    names = [step.action.name for step in steps]
    last: TransactionsState = steps[-1].state
    late = [step.chosen for step in steps if step.action.name == "arrive-late"]
    asked = [one for one in last.asked if one]
    if names.count("delay") != 1 or late != [(0,)] or asked not in ([COMMIT], [COMMIT, ABORT]):
        return None
    first, second = _transactions()
    in_first = sum(fate != 0 for fate in last.fates[: len(first.sends)])
    arrives = _arrives(names, first, second)
    return PlanFile(
        scenario=SCENARIO.name,
        kafka_version=LATEST.name,
        settings={TRANSACTION_VERSION: "1"},
        leave_out=LeaveOut(records={TRANSFER: (len(first.sends) - in_first, len(first.sends) + len(second.sends))}),
        steps=(Step(At(first.end + UNDER_WAY), BreakConnection(TRANSFER, COORDINATOR, arrives - first.end)),),
    )


def _transactions() -> tuple[Transaction, Transaction]:
    """The scenario's transactions."""
    (transfer,) = (client for client in SCENARIO.setup.clients if isinstance(client, TransactionalSetup))
    first, second = transfer.transactions
    return first, second


def _arrives(names: Sequence[str], first: Transaction, second: Transaction) -> int:
    """Time at which the late request arrives: half a second after what comes before it."""
    before = names[: names.index("arrive-late")]
    written = before[before.index("end") :].count("write")
    if "arrive" not in before:
        return first.end + UNDER_WAY
    return APART + ([first.end, *(send.at for send in second.sends)][written])
