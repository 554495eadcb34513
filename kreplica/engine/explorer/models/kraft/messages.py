"""Messages as whole numbers: a kind, and numbers at places of their own.

A place is the lowest bit and the largest value. Kinds that have no use for a number have 0 there::

    bit   0    3      5      7     9            13           17              21       25
          kind source target error broker epoch leader epoch partition epoch ISR      broker epoch of each member
                                                incarnation  metadata end
                                                             fetch offset    ...
"""

from __future__ import annotations

EPOCHS = 16
"""Room for leader epochs, partition epochs, broker epochs and incarnations."""

MOST_EPOCH, MOST_REPLICAS, MOST_RECORDS = EPOCHS - 1, 4, 4
"""The largest epoch, brokers and records that there is room for."""

MOST = (1 << 44) - 1
"""The largest number of a message."""

REGISTER, REGISTERED, ASK_ISR, ANSWER_ISR, FETCH, FETCHED = range(1, 7)
"""Kinds."""

KIND = (0, 7)
SOURCE = (3, 3)
TARGET = (5, 3)
ERROR = (7, 3)
BROKER_EPOCH = (9, 15)
LEADER_EPOCH = (13, 15)
INCARNATION = (13, 15)
METADATA_END = (17, 15)
PARTITION_EPOCH = (17, 15)
ISR = (21, 15)
ISR_EPOCHS = 25
"""The lowest bit of the broker epochs that go with an ISR, four each."""

OFFSET = (17, 7)
LAST_EPOCH = (20, 15)
DIVERGES = (24, 1)
END_EPOCH = (25, 15)
END = (29, 7)
HIGH_WATERMARK = (32, 7)
RECORD = (35, 127)

NO_ERROR, FENCED, UNKNOWN_EPOCH, NOT_LEADER = range(4)
"""Errors of fetches; of requests for an ISR the second is told for whatever is out of date."""

INELIGIBLE = 2
"""Error of a request for an ISR: a member is fenced or was started since."""


def read(message: int, place: tuple[int, int]) -> int:
    """The number at a place of a message."""
    return (message >> place[0]) & place[1]


def put(number: int, place: tuple[int, int]) -> int:
    """A message that has a number at a place, and nothing else."""
    return number << place[0]


def isr_epoch(message: int, broker: int) -> int:
    """The broker epoch that a request for an ISR gives for a member; 0 for one that was in it before."""
    return (message >> (ISR_EPOCHS + 4 * broker)) & 15


def put_isr_epoch(epoch: int, broker: int) -> int:
    """A message that gives a broker epoch for a member of an ISR, and nothing else."""
    return epoch << (ISR_EPOCHS + 4 * broker)


def answer_to(request: int, error: int) -> int:
    """The controller's answer to a request for an ISR: the request, as another kind and with an error."""
    return request - ASK_ISR + ANSWER_ISR + put(error, ERROR)


def request_of(answer: int) -> int:
    """The request for an ISR that an answer is to."""
    return answer - ANSWER_ISR + ASK_ISR - put(read(answer, ERROR), ERROR)
