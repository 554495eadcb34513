"""Verification of plans: independent of planners, and whatever is changed in a plan or its certificate is found."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import msgspec
from hypothesis import assume, given
from hypothesis import strategies as st

from kreplica.errors import UsageError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.planner.reassignment import verification
from kreplica.planner.reassignment.certificate import Certificate, certificate_object
from kreplica.planner.reassignment.planning import PlannedReassignment, PlanningLimits, plan_reassignment
from kreplica.planner.reassignment.request import Measure, Reason, ReasonKind, Request
from kreplica.planner.reassignment.verification.verify import verify
from tests.support.examples import examples
from tests.support.reassignments import SmallCluster, requests, small_clusters

UNKNOWN_DISKS = PlanningLimits(ignore_capacity=True)


def read_again(certificate: Certificate) -> Certificate:
    """The certificate as it is read from a plan's file."""
    text = json.dumps(certificate_object(certificate))
    return msgspec.convert(json.loads(text), Certificate, strict=False, str_keys=True)


@st.composite
def plans(draw: st.DrawFn) -> tuple[PlannedReassignment, ClusterSnapshot]:
    """Plans of any reasons, in any order, with and without limits."""
    cluster: SmallCluster = draw(small_clusters())
    request = draw(requests(cluster))
    measures = draw(st.lists(st.sampled_from(Measure), unique=True, max_size=3))
    balances = tuple(Reason(ReasonKind.BALANCE, measure=one) for one in measures)
    counted = request.reasons if draw(st.booleans()) or not balances else ()
    limits = [draw(st.none() | st.integers(0, 6)) for _ in range(3)]
    wanted = Request(
        (*counted, *balances),
        to=request.to,
        excluded_brokers=request.excluded_brokers,
        max_moves=limits[0],
        max_bytes=limits[1],
        max_leader_changes=limits[2],
        weights={("orders", number): draw(st.integers(0, 9)) for number in cluster.replicas},
        prove=draw(st.booleans()),
    )
    snapshot = cluster.snapshot()
    try:
        return plan_reassignment(snapshot, wanted, UNKNOWN_DISKS), snapshot
    except UsageError:
        assume(False)
        raise


def test_who_judges_imports_nothing_that_is_judged() -> None:
    """Of planners only the certificate, which is data, and that imports nothing of them."""
    folder = Path(verification.__path__[0])
    own = "kreplica.planner.reassignment."
    allowed = {f"{own}certificate", *(f"{own}verification.{file.stem}" for file in folder.glob("*.py"))}
    imported = {
        node.module
        for file in (*folder.glob("*.py"), folder.parent / "certificate.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module is not None
    }
    assert {one for one in imported if one.startswith("kreplica.planner")} <= allowed
    assert f"{own}certificate" in imported
    assert not imported & {"scipy", "ortools"}


@examples(2)
@given(st.data())
def test_every_plan_carries_a_certificate_that_holds(data: st.DataObject) -> None:
    planned, snapshot = data.draw(plans())
    left_out = data.draw(st.sets(st.sampled_from(sorted(planned.targets)))) if planned.targets else set()
    certificate = read_again(planned.certificate(left_out))
    goals = {key: after for key, after in planned.targets.items() if key not in left_out}
    assert verify(snapshot, goals, certificate) == []
    assert all(bound.lower_bound <= bound.value and bound.least_left <= bound.left for bound in certificate.bounds)
