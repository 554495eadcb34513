"""Layouts of messages that kafka-python does not know yet: fields, types and versions, as Kafka's protocol has them."""
