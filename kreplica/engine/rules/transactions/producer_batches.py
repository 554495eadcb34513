"""Batches of a producer: when one is sent, how many are in flight, and what follows a failure.

org.apache.kafka.clients.producer.internals.RecordAccumulator, Sender and ProducerBatch; in every version unless said.
"""


def batch_is_full(records: int, most: int) -> bool:
    """True if a batch is sent before linger.ms is over: it holds as much as batch.size allows.

    org.apache.kafka.clients.producer.internals.RecordAccumulator.append; a record that finds no open batch begins one.

    Args:
        records: Number of records in the batch, the new one included.
        most: Number of records that fit, since records have no size here.
    """
    return records >= most


def may_send(in_flight: int, most: int) -> bool:
    """True if another batch may be sent: fewer than max.in.flight.requests.per.connection wait for their answer.

    org.apache.kafka.clients.InFlightRequests.canSendMore.
    """
    return in_flight < most


def delivery_is_over(waited: int, timeout: int) -> bool:
    """True if a batch is given up because of its age, both times in one unit.

    org.apache.kafka.clients.producer.internals.ProducerBatch.hasReachedDeliveryTimeout: delivery.timeout.ms, since 2.1
    (KIP-91).
    """
    return waited >= timeout


def is_sent_again(retriable: bool, too_old: bool, attempts: int, retries: int) -> bool:
    """True if a batch that failed is sent again; otherwise the failure is reported to the application.

    org.apache.kafka.clients.producer.internals.Sender.canRetry.

    Args:
        retriable: Whether the error's exception is a RetriableException.
        too_old: Result of ``delivery_is_over`` for it.
        attempts: Number of times it has been sent.
        retries: The setting: how often it is sent again at most.
    """
    return retriable and not too_old and attempts <= retries
