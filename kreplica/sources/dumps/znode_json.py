"""Reads an export of ZooKeeper's tree as JSON: every znode with its data and its stat.

Layout::

    {"/brokers/ids/1": {"data": "{\\"version\\":5,...}", "stat": {"version": 0, "mzxid": 59, "pzxid": 59, ...}}, ...}

``data`` is text, or null; of ``stat``, in ZooKeeper's own names, ``version`` is needed. A chroot may precede all paths.
docs/sources.md has a script that makes an export. An export takes time, and does not show what changed meanwhile.
"""

from __future__ import annotations

import re

import msgspec

from kreplica.errors import InputError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sources.dumps.text import DumpText
from kreplica.sources.zookeeper import tree as paths
from kreplica.sources.zookeeper.snapshot import snapshot_of
from kreplica.sources.zookeeper.tree import Tree, Znode
from kreplica.system.untrusted_files import MalformedError, decode_json

START = re.compile(r'\s*\{\s*"/')
"""The beginning of an export: its first key is a path."""

_STATE = re.compile(re.escape(paths.TOPICS) + r"/[^/]+/partitions/\d+/state")


class _Stat(msgspec.Struct, frozen=True, gc=False):
    version: int
    mzxid: int = 0
    pzxid: int = 0


class _Exported(msgspec.Struct, frozen=True, gc=False):
    stat: _Stat
    data: str | None = None


def read_znode_json(dump: DumpText) -> ClusterSnapshot:
    """Reads an export of the znodes of one cluster.

    Raises:
        InputError: No such export, of no cluster or of several, or a znode is not what Kafka writes there.
    """
    exported = _decode(dump)
    tree = _tree(_without_chroot(dump.source, exported))
    if tree.children.get(paths.TOPICS) and not any(_STATE.fullmatch(path) for path in tree.nodes):
        reason = f"it has topics and no partition state ({paths.TOPICS}/TOPIC/partitions/0/state)"
        raise InputError(dump.source, "", reason, "export every znode below /brokers")
    return snapshot_of(tree, name=dump.source, taken_at=dump.taken_at, source="znode-json")


def _decode(dump: DumpText) -> dict[str, _Exported]:
    try:
        found: dict[str, _Exported] = decode_json(dump.text, dict[str, _Exported])
    except MalformedError as error:
        if error.place is not None:
            place = "" if error.place == "$" else error.place
            raise InputError(dump.source, place, f"no export of znodes: {error.reason}") from None
        raise InputError(dump.source, "", f"no valid JSON: {error}", "make the export again") from None
    return found


def _without_chroot(source: str, exported: dict[str, _Exported]) -> dict[str, _Exported]:
    chroots = sorted(path.removesuffix(paths.TOPICS) for path in exported if path.endswith(paths.TOPICS))
    if len(chroots) == 1:
        chroot = chroots[0]
        return {path.removeprefix(chroot): one for path, one in exported.items() if path.startswith(f"{chroot}/")}
    if chroots:
        found = ", ".join(chroot or paths.CHROOT for chroot in chroots)
        raise InputError(source, "", f"it holds several clusters, below {found}", "export one chroot at a time")
    raise InputError(source, "", f"no Kafka cluster is in it: it has no {paths.TOPICS}", "export every znode below /")


def _tree(exported: dict[str, _Exported]) -> Tree:
    tree = Tree()
    for path, one in exported.items():
        data = one.data.encode() if one.data is not None else None
        tree.nodes[path] = Znode(data, one.stat.version, max(one.stat.mzxid, one.stat.pzxid))
        parent, _, name = path.rpartition("/")
        tree.children.setdefault(path, [])
        tree.children.setdefault(parent, []).append(name)
    return tree
