"""The rules over time as SQL over the documented layout of a history: written from what docs say, by DuckDB alone.

Every rule asks what each snapshot told, row by row, while kreplica asks folded runs. Each statement gives rows of rule,
cluster, topic, partition, broker, consumer group, the first moment that shows it and the first later one that does not.
They tell what snapshots of the planted fleet can show: no metadata log, no bytes on brokers, no high watermark that
went back, no setting of brokers across clusters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import duckdb

TABLES = ("partitions", "brokers", "configs", "groups")

# Observations are numbered through in a cluster; rows are given back to each observation that told them.
OBSERVED = """
CREATE TEMP TABLE observed AS
  SELECT *, epoch_ms(taken_at) AS ms, row_number() OVER (PARTITION BY cluster ORDER BY month, observation) AS n
  FROM read_parquet(getvariable('observed'), hive_partitioning = true)
"""
TOLD = """
CREATE TEMP TABLE {name} AS
  SELECT seen.n, seen.ms, seen.columns, rows.* EXCLUDE (month, valid_from, valid_to, last_seen)
  FROM read_parquet({files}, hive_partitioning = true) AS rows
  JOIN (
    SELECT cluster, month, n, ms, observation, ' ' || {name} || ' ' AS columns,
      max(observation) OVER (PARTITION BY cluster, month) AS newest
    FROM observed WHERE {name} IS NOT NULL
  ) AS seen USING (cluster, month)
  WHERE seen.observation BETWEEN rows.first_observation AND coalesce(rows.last_observation, seen.newest)
"""
SAMPLED = """
CREATE TEMP TABLE {name}_sampled AS
  SELECT seen.n, seen.ms, rows.* EXCLUDE (month, taken_at)
  FROM read_parquet({files}, hive_partitioning = true) AS rows JOIN observed AS seen USING (cluster, month, observation)
"""

# Islands: what holds at some of the observations that can tell, each from its first one to the next that denies it.
ISLANDS = """
SELECT *, min(ms) OVER island AS begin, max(ms) OVER island AS until, lead(ms) OVER line AS after
FROM (SELECT *, count(*) FILTER (NOT coalesce(holds, false)) OVER line AS other FROM ({rows})
  WINDOW line AS (PARTITION BY {key} ORDER BY n))
WINDOW line AS (PARTITION BY {key} ORDER BY n), island AS (PARTITION BY {key}, other, holds)
QUALIFY holds AND ms = until
"""
DAY = 86_400_000
HALF_AN_HOUR = 1_800_000

# A rule that counts events: those that lie in any day that holds enough of them.
OFTEN = """
SELECT DISTINCT event.* FROM {events} AS event JOIN {events} AS start USING ({key})
WHERE event.ms BETWEEN start.ms AND start.ms + {day} AND (
  SELECT sum(weight) FROM {events} AS inside
  WHERE ({inside}) AND inside.ms BETWEEN start.ms AND start.ms + {day}) >= {most}
"""
AFTER_A_DAY = "(SELECT min(ms) FROM observed AS o WHERE o.cluster = bad.cluster AND o.ms > max(bad.ms) + 86400000)"


def _islands(rows: str, key: str) -> str:
    return ISLANDS.format(rows=rows, key=key)


def _often(events: str, key: Sequence[str], most: int) -> str:
    inside = " AND ".join(f"inside.{name} = start.{name}" for name in key)
    return OFTEN.format(events=events, key=", ".join(key), inside=inside, most=most, day=DAY)


EVENTS = """
CREATE TEMP TABLE steps AS
  SELECT *, lag(topic_id) OVER own AS old_id, lag(isr) OVER own AS old_isr, lag(leader) OVER own AS old_leader,
    lag(leader_epoch) OVER own AS old_epoch, lag(partition_epoch) OVER own AS old_partition_epoch,
    lag(recovery_state) OVER own AS old_state
  FROM partitions WINDOW own AS (PARTITION BY cluster, topic, partition ORDER BY n);
CREATE TEMP TABLE leaving AS
  SELECT cluster, topic, partition, ms, 1 AS weight,
    unnest([one FOR one IN old_isr IF NOT list_contains(isr, one)]) AS broker
  FROM steps WHERE old_id = topic_id;
CREATE TEMP TABLE rising AS
  SELECT cluster, topic, partition, ms, leader_epoch - old_epoch AS weight FROM steps
  WHERE old_id = topic_id AND leader_epoch > old_epoch;
CREATE TEMP TABLE sizes AS
  SELECT 'replication-factor-lowered' AS rule, cluster, topic, partition, topic_id, n, ms,
    len([one FOR one IN replicas IF NOT list_contains(coalesce(removing, []), one)]) AS value
  FROM partitions
  UNION ALL
  SELECT 'min-isr-lowered', cluster, topic, partition, topic_id, n, ms, min_isr FROM partitions
  WHERE contains(columns, ' min_isr ') AND min_isr IS NOT NULL;
CREATE TEMP TABLE drops AS
  SELECT * FROM (
    SELECT *, lag(value) OVER own AS was, lag(topic_id) OVER own AS old_id, lag(n) OVER own AS before
    FROM sizes WINDOW own AS (PARTITION BY rule, cluster, topic, partition ORDER BY n)
  ) WHERE old_id = topic_id AND value < was
"""

RULES = {
    "unclean-election": """
        SELECT 'unclean-election', cluster, topic, partition, NULL, NULL, ms, ms FROM steps
        WHERE old_id = topic_id AND (
          (recovery_state = 1 AND coalesce(old_state, 0) <> 1)
          OR (leader >= 0 AND leader <> old_leader AND NOT list_contains(old_isr, leader) AND (
            partition_epoch = old_partition_epoch + 1 OR unclean_leader_election
            OR (old_leader = -1 AND leader_epoch = old_epoch + 1))))
    """,
    "no-snapshot": """
        SELECT 'no-snapshot', cluster, NULL, NULL, NULL, NULL, ms, following FROM (
          SELECT *, median(waited) FILTER (waited > 0) OVER (PARTITION BY cluster) AS usual FROM (
            SELECT cluster, ms, lead(ms) OVER own AS following, lead(ms) OVER own - ms AS waited
            FROM observed WINDOW own AS (PARTITION BY cluster ORDER BY n)))
        WHERE coalesce(following, (SELECT max(ms) FROM observed)) - ms > 3 * usual
    """,
    "disk-filling": f"""
        SELECT 'disk-filling', cluster, NULL, NULL, broker, NULL, min(ms), NULL FROM (
          SELECT *, max(ms) OVER (PARTITION BY cluster) AS newest FROM log_dirs_sampled)
        WHERE ms >= newest - 7 * {DAY} AND usable_bytes IS NOT NULL
        GROUP BY cluster, broker, path, newest
        HAVING count(*) >= 6 AND max(ms) = newest AND max(ms) - min(ms) >= {DAY}
          AND regr_slope(usable_bytes, ms / {DAY}) < 0
          AND arg_max(usable_bytes, ms) / -regr_slope(usable_bytes, ms / {DAY}) <= 14
    """,
    "vanished-topic": f"""
        SELECT 'vanished-topic', cluster, topic, NULL, NULL, NULL, begin, after FROM ({
        _islands(
            '''SELECT known.cluster, topic, n, ms, there IS NULL AS holds FROM (
                     SELECT cluster, topic, min(n) AS first FROM partitions GROUP BY cluster, topic) AS known
                   JOIN observed USING (cluster)
                   LEFT JOIN (SELECT DISTINCT cluster, topic, n, true AS there FROM partitions)
                     USING (cluster, topic, n)
                   WHERE n > first AND (there OR partitions_whole)''',
            "cluster, topic",
        )
    })
    """,
    "vanished-broker": f"""
        SELECT 'vanished-broker', cluster, NULL, NULL, broker, NULL, begin, after FROM ({
        _islands(
            '''SELECT known.cluster, broker, n, ms, there IS NULL AS holds FROM (
                     SELECT cluster, broker, min(n) AS first FROM brokers WHERE coalesce(alive, true)
                     GROUP BY cluster, broker) AS known
                   JOIN observed USING (cluster)
                   LEFT JOIN (SELECT cluster, broker, n, true AS there FROM brokers WHERE coalesce(alive, true))
                     USING (cluster, broker, n)
                   LEFT JOIN (SELECT cluster, broker, n, true AS listed FROM brokers) USING (cluster, broker, n)
                   WHERE n > first AND (listed OR brokers_whole)''',
            "cluster, broker",
        )
    }) WHERE after IS NULL OR until - begin > {HALF_AN_HOUR}
    """,
    "lowered": """
        SELECT rule, cluster, topic, NULL, NULL, NULL, ms,
          CASE WHEN count(*) = count(again) THEN max(again) END
        FROM (
          SELECT drops.*, (
            SELECT min(later.ms) FROM sizes AS later
            WHERE later.rule = drops.rule AND later.cluster = drops.cluster AND later.topic = drops.topic
              AND later.partition = drops.partition AND later.n > drops.n AND later.value >= drops.was) AS again
          FROM drops)
        GROUP BY rule, cluster, topic, before, n, ms, was, value
    """,
    "stuck-reassignment": f"""
        SELECT 'stuck-reassignment', cluster, topic, partition, NULL, NULL, begin, after FROM ({
        _islands(
            '''SELECT *, coalesce(len(adding), 0) + coalesce(len(removing), 0) > 0 AS holds FROM partitions''',
            "cluster, topic, partition",
        )
    }) WHERE until - begin >= {DAY}
    """,
    "orphaned-throttle": f"""
        SELECT 'orphaned-throttle', cluster, entity, NULL, NULL, NULL, begin, after FROM ({
        _islands(
            '''SELECT listed.cluster, listed.entity, listed.name, told.n, told.ms,
                     trim(value) <> '' AND NOT busy AS holds
                   FROM (SELECT DISTINCT cluster, entity, name FROM configs
                     WHERE name IN ('leader.replication.throttled.replicas', 'follower.replication.throttled.replicas')
                   ) AS listed
                   JOIN (SELECT cluster, n, ms, bool_or(len(adding) > 0 OR len(removing) > 0) AS busy
                     FROM partitions GROUP BY cluster, n, ms) AS told USING (cluster)
                   LEFT JOIN configs ON configs.cluster = listed.cluster AND configs.entity = listed.entity
                     AND configs.name = listed.name AND configs.n = told.n''',
            "cluster, entity, name",
        )
    }) WHERE until - begin >= 3600000
    """,
    "isr-flapping": f"""
        SELECT 'isr-flapping', cluster, NULL, NULL, broker, NULL, min(ms), {AFTER_A_DAY}
        FROM ({_often("leaving", ("cluster", "topic", "partition", "broker"), 3)}) AS bad GROUP BY cluster, broker
    """,
    "leader-epoch-churn": f"""
        SELECT 'leader-epoch-churn', cluster, topic, NULL, NULL, NULL, min(ms), {AFTER_A_DAY}
        FROM ({_often("rising", ("cluster", "topic", "partition"), 10)}) AS bad GROUP BY cluster, topic
    """,
    "controller-changes": """
        SELECT 'controller-changes', cluster, NULL, NULL, controller, NULL, ms, ms FROM (
          SELECT *, lag(controller) OVER (PARTITION BY cluster ORDER BY n) AS old FROM observed
          WHERE controller IS NOT NULL)
        WHERE controller <> old
    """,
    "config-drift": f"""
        SELECT 'config-drift', cluster, NULL, NULL, NULL, NULL, begin, after FROM ({
        _islands(
            '''SELECT cluster, name, n, ms, count(DISTINCT value) > 1 AS holds FROM configs
                   WHERE entity_type = 'broker' AND value IS NOT NULL
                     AND name NOT IN ('broker.id', 'node.id', 'broker.rack')
                   GROUP BY cluster, name, n, ms''',
            "cluster, name",
        )
    })
    """,
    "cluster-drift": """
        WITH present AS (
          SELECT configs.*, (
            SELECT min(ms) FROM configs AS same WHERE same.cluster = configs.cluster AND same.entity = configs.entity
              AND same.name = configs.name AND same.value = configs.value AND same.n > coalesce((
                SELECT max(n) FROM configs AS other
                WHERE other.cluster = configs.cluster AND other.entity = configs.entity
                  AND other.name = configs.name AND other.value <> configs.value), 0)) AS since
          FROM configs
          WHERE entity_type = 'topic' AND list_contains(getvariable('members'), cluster)
            AND n = (SELECT max(n) FROM observed WHERE observed.cluster = configs.cluster)
        ), common AS (SELECT entity, name, mode(value) AS most FROM present GROUP BY entity, name)
        SELECT 'cluster-drift', cluster, entity, NULL, NULL, NULL, since, NULL
        FROM present JOIN common USING (entity, name) WHERE value <> most
    """,
    "setting-changed": """
        WITH told AS (
          SELECT DISTINCT cluster, n, ms, lag(n) OVER (PARTITION BY cluster ORDER BY n) AS before FROM observed
          WHERE configs IS NOT NULL
        )
        SELECT 'setting-changed', told.cluster, CASE WHEN known.entity_type = 'topic' THEN known.entity END,
          NULL, NULL, NULL, told.ms, told.ms
        FROM told JOIN (SELECT DISTINCT cluster, entity_type, entity, name FROM configs
          WHERE NOT contains(name, '.replication.throttled.')) AS known USING (cluster)
        LEFT JOIN configs AS old ON old.cluster = told.cluster AND old.n = told.before AND old.entity = known.entity
          AND old.entity_type = known.entity_type AND old.name = known.name
        LEFT JOIN configs AS now ON now.cluster = told.cluster AND now.n = told.n AND now.entity = known.entity
          AND now.entity_type = known.entity_type AND now.name = known.name
        WHERE told.before IS NOT NULL AND old.value IS DISTINCT FROM now.value AND (
          SELECT count(DISTINCT n) FROM partitions AS there
          WHERE there.cluster = told.cluster AND there.topic = known.entity AND n IN (told.before, told.n)) = 2
    """,
    "skewed-brokers": f"""
        WITH up AS (SELECT cluster, n, ms, broker FROM brokers WHERE alive), loads AS (
          SELECT 'leaders' AS measure, cluster, n, leader AS broker FROM partitions WHERE leader >= 0
          UNION ALL SELECT 'replicas', cluster, n, unnest(replicas) FROM partitions
        ), shares AS (
          SELECT measure, cluster, n, up.ms, broker, count(loads.broker) AS load
          FROM up CROSS JOIN (VALUES ('leaders'), ('replicas')) AS measures (measure)
          LEFT JOIN loads USING (measure, cluster, n, broker)
          JOIN observed AS whole USING (cluster, n) WHERE partitions_whole
          GROUP BY measure, cluster, n, up.ms, broker
        ), most AS (
          SELECT measure, cluster, n, ms, max(load) AS most,
            min(broker) FILTER (load = top) AS fullest, avg(load) AS even
          FROM (SELECT *, max(load) OVER (PARTITION BY measure, cluster, n) AS top FROM shares)
          GROUP BY measure, cluster, n, ms
        )
        SELECT 'skewed-brokers', cluster, NULL, NULL, fullest, NULL, begin, after FROM ({
        _islands("SELECT *, most - even >= 1 AND (most - even) * 10 > even AS holds FROM most", "cluster, measure")
    }) WHERE until - begin >= {DAY}
    """,
    "group-stopped": f"""
        WITH commits AS (
          SELECT commits.*, high_watermark, max(commits.n) OVER (PARTITION BY cluster, "group", topic) AS newest,
            last_value("offset") OVER (PARTITION BY cluster, "group", topic, partition ORDER BY commits.n
              ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS latest
          FROM groups_sampled AS commits LEFT JOIN partitions_sampled AS ends USING (cluster, n, topic, partition)
        ), still AS (
          SELECT *, max(n) FILTER ("offset" <> latest) OVER (PARTITION BY cluster, "group", topic, partition) AS moved
          FROM commits
        ), stood AS (
          SELECT cluster, "group", topic, partition, min(ms) AS since, max(ms) AS until,
            arg_min(high_watermark, n) AS was, arg_max(high_watermark, n) AS now, any_value(latest) AS latest
          FROM still WHERE n > coalesce(moved, 0) GROUP BY cluster, "group", topic, partition, newest
          HAVING count(*) > 1 AND max(n) = newest
        )
        SELECT 'group-stopped', cluster, topic, NULL, NULL, "group", min(since), NULL FROM stood
        WHERE now > was AND latest < now AND until - since >= {DAY} GROUP BY cluster, "group", topic
    """,
    "group-offsets-back": """
        SELECT DISTINCT 'group-offsets-back', cluster, topic, NULL::INT, NULL::INT, "group", ms, ms FROM (
          SELECT *, lag("offset") OVER (PARTITION BY cluster, "group", topic, partition ORDER BY n) AS old
          FROM groups_sampled)
        WHERE "offset" < old
    """,
    "dead-group": f"""
        SELECT DISTINCT 'dead-group', cluster, NULL, NULL::INT, NULL::INT, "group", begin, NULL::BIGINT FROM ({
        _islands("SELECT *, state IN ('Dead', 'Empty') AS holds FROM groups", 'cluster, "group", topic, partition')
    }) WHERE after IS NULL AND until - begin >= 7 * {DAY}
    """,
}
"""A statement a rule; both kinds of lowered numbers are one."""


def found_by_duckdb(root: Path, history: Path, members: Sequence[str]) -> list[tuple[object, ...]]:
    """Rows of what the rules find in a history.

    Args:
        root: The repository, whose documentation says how the files of a history are found.
        history: The history.
        members: Clusters that are to be alike.
    """
    (block, *_) = re.findall(r"```sql\n(.*?)```", (root / "docs/fleet.md").read_text(encoding="utf-8"), re.DOTALL)
    naming = [one for one in block.split(";\n") if not one.lstrip().startswith("SELECT")]
    connection = duckdb.connect()
    for statement in naming:
        connection.execute(statement.replace("history/", f"{history}/"))
    connection.execute("SET VARIABLE members = ?", [list(members)])
    connection.execute(OBSERVED)
    for table in TABLES:
        connection.execute(TOLD.format(name=table, files=_files(connection, table, ("open", "closed"))))
    for table in ("partitions", "groups", "log_dirs"):
        connection.execute(SAMPLED.format(name=table, files=_files(connection, table, ("samples",))))
    unknown = connection.execute("SELECT count(*) FROM files WHERE part = 'unknown'").fetchone()
    assert unknown == (0,), "statements take a row for told by each snapshot inside it"
    for statement in EVENTS.split(";\n"):
        connection.execute(statement)
    return [row for statement in RULES.values() for row in connection.execute(statement).fetchall()]


def _files(connection: duckdb.DuckDBPyConnection, table: str, parts: Sequence[str]) -> str:
    """The files of some parts of a table, as SQL has them."""
    marks = ", ".join("?" * len(parts))
    found = connection.execute(
        f"SELECT path FROM files WHERE of = ? AND part IN ({marks}) ORDER BY path", [table, *parts]
    ).fetchall()
    return "[" + ", ".join(f"'{path}'" for (path,) in found) + "]"
