"""A consumer of KIP-848's protocol, restated as Kafka's sources are written: local epochs of assignments are numbers.

ConsumerMembershipManager, AbstractMembershipManager (LocalAssignment) and ConsumerHeartbeatRequestManager of 4.x. What
it has is never changed in place: each step gives another consumer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

Local = tuple[int, frozenset[int]]
NO_LOCAL: Local = (-1, frozenset())

Request = tuple[int, frozenset[int] | None, bool]
"""Member epoch, the partitions that it names, whether it says everything there is."""

Answer = tuple[str, int, frozenset[int] | None]
"""Error, member epoch, the assignment if it is named."""


@dataclass(frozen=True)
class Client:
    """One consumer; ``sent`` is SentFields, None once it is reset."""

    status: str = "JOINING"
    epoch: int = 0
    current: Local = NO_LOCAL
    target: Local = NO_LOCAL
    step: Local | None = None
    sent: Local | None = None
    reset: bool = False
    request: Request | None = None
    answer: Answer | None = None

    def heard(self, answer: Answer) -> Client:
        """onSuccessResponse, or onErrorResponse with transitionToFenced; an answer under way has arrived."""
        error, epoch, partitions = answer
        if error:
            return Client(reset=True)
        return replace(self, answer=None, epoch=epoch)._assigned(partitions)

    def _assigned(self, partitions: frozenset[int] | None) -> Client:
        """processAssignmentReceived."""
        if partitions is None:
            return self
        target = self.target
        if target == NO_LOCAL or target[1] != partitions:
            target = (target[0] + 1, partitions)
        told = replace(self, target=target)
        if told.current != target:
            return replace(told, status="RECONCILING")
        return replace(told, status="STABLE") if told.status in {"RECONCILING", "JOINING"} else told

    def heartbeat(self) -> Client:
        """buildRequestData and onHeartbeatRequestGenerated."""
        every = self.status == "JOINING"
        owned = self.current[1] if every or self.sent != self.current else None
        status = self.status
        if status == "ACKNOWLEDGING":
            status = "STABLE" if self.current == self.target else "RECONCILING"
        request = (self.epoch, owned, every or self.reset)
        return replace(self, status=status, sent=self.current, reset=False, request=request)

    def timed_out(self) -> Client:
        """AbstractHeartbeatRequestManager.onFailure: what was sent is forgotten."""
        return replace(self, request=None, answer=None, sent=None, reset=True)

    def begun(self) -> Client | None:
        """maybeReconcile: it begins to take over its assignment; None if there is nothing to do."""
        if self.status != "RECONCILING" or self.current == self.target or self.step is not None:
            return None
        if self.current != NO_LOCAL and self.current[1] == self.target[1]:
            return replace(self, current=self.target, status="ACKNOWLEDGING")
        return replace(self, step=self.target)

    def taken_over(self) -> Client | None:
        """revokeAndAssign has ended; None if it is not under way."""
        if self.step is None:
            return None
        return replace(self, current=self.step, step=None, status="ACKNOWLEDGING")
