"""A session of Spark without extensions that jars bring along, in a JVM of our own.

Spark asks all jars for such, and its own library for machine learning has one: to register four functions that no audit
calls, it reads by reflection what Scala knows of itself, which takes two seconds of a processor.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext

_EXTENSIONS = "spark.sql.extensions"
_SESSION = "org.apache.spark.sql.classic.SparkSession"


def begin_unextended(context: SparkContext) -> None:
    """Makes the JVM's session, which PySpark then finds, unless the user names extensions, which have to be found.

    Java looks for what jars bring along by the class loader of the thread, which sees no jar meanwhile. Where Spark
    has no such session PySpark makes one as ever.

    Args:
        context: One that has no session yet.
    """
    from py4j.protocol import Py4JError

    if context.getConf().contains(_EXTENSIONS):
        return
    with contextlib.suppress(Py4JError, TypeError):
        _make(context._jvm, context._jsc.sc(), context._gateway)


def _make(java: Any, context: Any, gateway: Any) -> None:
    session = context.getClass().getClassLoader().loadClass(_SESSION)
    made_by = [
        some for some in session.getConstructors() if some.getParameterCount() == 2
    ]  # the one that PySpark calls
    given = gateway.new_array(java.java.lang.Object, 2)
    given[0], given[1] = context, java.java.util.HashMap()
    thread, without = java.java.lang.Thread.currentThread(), java.java.lang.ClassLoader.getPlatformClassLoader()
    loader = thread.getContextClassLoader()
    thread.setContextClassLoader(without)
    try:
        made = [one.newInstance(given) for one in made_by[:1]]
    finally:
        thread.setContextClassLoader(loader)
    for one in made:
        getattr(java, _SESSION).setDefaultSession(one)
