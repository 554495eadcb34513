"""Plans of faults: read as they were written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine import fault_plan
from kreplica.engine.fault_plan import At, Crash, Lossy, Pause, Plan, PowerLoss, Step, When
from kreplica.engine.trace import Kind
from kreplica.errors import UsageError

NODES = st.sampled_from(["broker-1", "leader of t-0", "active controller"])
STEPS = st.builds(
    Step,
    st.builds(At, st.integers(0, 10**9))
    | st.builds(When, st.sampled_from([str(kind) for kind in Kind]), NODES, count=st.integers(1, 9)),
    st.builds(Crash, NODES)
    | st.builds(Pause, NODES, st.integers(0, 10**9))
    | st.builds(PowerLoss, st.lists(NODES, max_size=3).map(tuple), st.integers(0, 9))
    | st.builds(Lossy, NODES, NODES, st.integers(0, 100), st.integers(0, 10**9), st.booleans()),
)


@given(st.lists(STEPS, max_size=5).map(tuple))
def test_a_plan_is_read_as_it_was_written(plan: Plan) -> None:
    assert fault_plan.plan_from_json(fault_plan.plan_to_json(plan), "plan.json") == plan


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[", "truncated"),
        (b'[{"when": {"on": "time", "time": 1}, "do": {"do": "explode"}}]', "explode"),
        (b'[{"when": {"on": "time", "time": "soon"}, "do": {"do": "crash", "node": "broker-1"}}]', "time"),
    ],
)
def test_what_is_no_plan_is_refused_with_the_place(content: bytes, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        fault_plan.plan_from_json(content, "plan.json")
    assert "plan.json" in caught.value.what
    assert told in caught.value.why
