"""Models of one partition, as published for KIP-101, KIP-279 and KIP-320 (hachikuji/kafka-specification, TLA+).

Decisions of the controller are taken at once; requests to lead or follow arrive at any time, in any order, more than
once or never. No broker crashes and no disk is lost: a broker that fails is one that leaves the ISR.
"""
