"""Batches of a producer: at each limit, as RecordAccumulator, InFlightRequests, ProducerBatch and Sender compare."""

from __future__ import annotations

import pytest

from kreplica.engine.rules.transactions.producer_batches import (
    batch_is_full,
    delivery_is_over,
    is_sent_again,
    may_send,
)


@pytest.mark.parametrize(("records", "full"), [(99, False), (100, True), (101, True)])
def test_a_batch_is_full_with_the_last_record_that_fits(records: int, full: bool) -> None:
    assert batch_is_full(records, 100) is full


@pytest.mark.parametrize(("in_flight", "may"), [(0, True), (4, True), (5, False), (6, False)])
def test_fewer_than_max_in_flight_wait_when_another_is_sent(in_flight: int, may: bool) -> None:
    """InFlightRequests.canSendMore: queue.size() < maxInFlightRequestsPerConnection."""
    assert may_send(in_flight, 5) is may


@pytest.mark.parametrize(("waited", "over"), [(119_999, False), (120_000, True), (120_001, True)])
def test_a_batch_is_given_up_once_its_time_is_reached(waited: int, over: bool) -> None:
    """ProducerBatch.hasReachedDeliveryTimeout: deliveryTimeoutMs <= now - createdMs."""
    assert delivery_is_over(waited, 120_000) is over


@pytest.mark.parametrize(
    ("retriable", "too_old", "attempts", "again"),
    [
        (True, False, 1, True),
        (True, False, 2, True),
        (True, False, 3, False),
        (False, False, 1, False),
        (True, True, 1, False),
        (False, True, 1, False),
    ],
)
def test_a_batch_is_sent_again_as_often_as_retries_says(
    retriable: bool, too_old: bool, attempts: int, again: bool
) -> None:
    """Sender.canRetry: not past its time, attempts() < retries, a RetriableException; the first sending is no retry."""
    assert is_sent_again(retriable, too_old, attempts, 2) is again
