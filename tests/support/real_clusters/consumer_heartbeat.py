"""ConsumerGroupHeartbeat (KIP-848), which kafka-python does not know yet, by its layout in ``message_schemas``."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():  # kafka-python reads layouts, its own too, in a way that Python means to give up
    warnings.simplefilter("ignore", DeprecationWarning)

    from kafka.protocol.api_message import ApiMessage

    class ConsumerGroupHeartbeatRequest(ApiMessage, load_json="message_schemas"):
        """Version 1: the member gives itself its id (KIP-1082)."""

    class ConsumerGroupHeartbeatResponse(ApiMessage, load_json="message_schemas"):
        """Its assignment is None where it is as before."""
