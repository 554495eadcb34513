"""A session that is made without looking for extensions in jars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from analyzers.sessions.unextended import begin_unextended

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_it_becomes_the_one_that_pyspark_finds_and_its_thread_sees_jars_again(spark: SparkSession) -> None:
    java: Any = spark.sparkContext._jvm
    sessions = java.org.apache.spark.sql.classic.SparkSession
    before, loader = sessions.getDefaultSession().get(), loader_of_thread(java)
    try:
        begin_unextended(spark.sparkContext)
        made = sessions.getDefaultSession().get()
        assert not made.equals(before)
        assert made.sparkContext().equals(before.sparkContext())
        assert loader_of_thread(java) == loader
    finally:
        sessions.setDefaultSession(before)


def loader_of_thread(java: Any) -> str:
    return str(java.java.lang.Thread.currentThread().getContextClassLoader().toString())
