"""Logs of controllers' decisions, held against the engine's rules: KRaft's metadata log, ZooKeeper's transactions."""
