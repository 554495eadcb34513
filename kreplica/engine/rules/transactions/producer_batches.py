"""What a producer does with its batches: when one leaves, how many are on their way, what follows an answer.

org.apache.kafka.clients.producer.internals.RecordAccumulator, Sender and ProducerBatch; in every version unless said.
"""


def batch_is_full(records: int, most: int) -> bool:
    """Whether a batch leaves before linger.ms is over: it holds as much as batch.size allows.

    org.apache.kafka.clients.producer.internals.RecordAccumulator.append; a record that finds no open batch begins one.

    Args:
        records: In the batch, the new one included.
        most: As many as fit, since records have no size here.
    """
    return records >= most


def may_send(in_flight: int, most: int) -> bool:
    """Whether another batch may leave: fewer than max.in.flight.requests.per.connection wait for their answer.

    org.apache.kafka.clients.InFlightRequests.canSendMore.
    """
    return in_flight < most


def delivery_is_over(waited: int, timeout: int) -> bool:
    """Whether a batch is given up for its age, both in one unit.

    org.apache.kafka.clients.producer.internals.ProducerBatch.hasReachedDeliveryTimeout: delivery.timeout.ms, since 2.1
    (KIP-91).
    """
    return waited >= timeout


def is_sent_again(retriable: bool, too_old: bool, attempts: int, retries: int) -> bool:
    """Whether a batch that failed is sent again; otherwise the application is told that it failed.

    org.apache.kafka.clients.producer.internals.Sender.canRetry.

    Args:
        retriable: Whether the error's exception is a RetriableException.
        too_old: What ``delivery_is_over`` says of it.
        attempts: How often it has been sent.
        retries: The setting: how often it is sent again at most.
    """
    return retriable and not too_old and attempts <= retries
